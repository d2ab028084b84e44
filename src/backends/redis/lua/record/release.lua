-- Makes the server forget one owner: its hold, or its place in the queue, and a request of it that is still under way.
-- Always allowed, in quarantine too.
--
-- KEYS[2] the lock; KEYS[3] the queue, KEYS[4] those who wait, where there is a queue
-- ARGV[2] the owner, ARGV[3] how long a free lock is remembered, in ms, ARGV[4] the channel where it is said that the lock is
-- free, ARGV[5] and its name, where there is no queue; no channel: one who had a vote and not the lock gives it back
-- Returns {1, time} it held or waited, {0, time} it did neither, {'R', time}

local owner = ARGV[2]

-- The usual case: it holds the lock, and nobody waits. Does what all that follows would do; where anything is not quite so, that
-- decides.
local record = not came_along and redis.call('GET', KEYS[2])
local space = record and plain(record)
local line = space and string.find(record, '\n', space, true)
if line and string.sub(record, line + 1, line + 40) == owner and string.find(record, '^ %d+ %d+ %a %d+\n', line + 41) then
  local dead = string.sub(record, math.max(space - 112, 56), space - 1) .. string.sub(owner, 1, 16)  -- see with_tombstone()
  redis.call('SET', KEYS[2], string.sub(record, 1, 38) .. now_text .. ' ' .. dead .. string.sub(record, space, line),
    'PX', ARGV[3])
  if not alone and ARGV[4] ~= '' then
    redis.pcall('PUBLISH', ARGV[4], ARGV[5])
  end
  return {1, now_text}
end

-- include functions

local no = came_along and doubt(true)
if no then
  return no
end
local lock = parse(record or redis.call('GET', KEYS[2]))
if not lock then
  return not_ours(KEYS[2])
end
local holder = lock.holder
local known, was_next = 0, false
if holder == owner then
  known, was_next = 1, true
  holder = nil
  lock.dead = with_tombstone(lock.dead, owner)
  lock.hold = ''
else
  if alone then
    was_next = redis.call('ZRANK', KEYS[3], owner) == 0
    redis.call('ZREM', KEYS[3], owner)
    known = redis.call('HDEL', KEYS[4], owner)
  end
  if buried(lock, owner) then
    return {known, now_text}
  end
  lock.gone = with_tombstone(lock.gone, owner)  -- apart, so that those who gave up never push a holder's tombstone out
end
if holder then
  redis.call('SET', KEYS[2], packed(lock))
  return {known, now_text}
end
if was_next then
  lock.free_since = now_text  -- whoever is first now has its whole claim time; who leaves from behind changes nothing in that
end
redis.call('SET', KEYS[2], packed(lock), 'PX', remembered(lock, ARGV[3]))
if not alone and was_next and ARGV[4] ~= '' then
  redis.pcall('PUBLISH', ARGV[4], ARGV[5])
end
if lock.queued == '0' then
  return {known, now_text}
end

-- include queue

local news = wake_first(KEYS[3], KEYS[4])  -- also when one has left for whom it may have been kept
if news and not was_next then
  lock.free_since = now_text
  redis.call('SET', KEYS[2], packed(lock), 'KEEPTTL')
end
return {known, now_text}
