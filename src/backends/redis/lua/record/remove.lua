-- Removes one hold if and only if it is still in this version, by order of a person in any, and puts the victim's token in
-- the past: it can come back neither by renewing nor by a write.
--
-- KEYS[2] the bucket's counter, KEYS[3] the lock, KEYS[4] the queue, KEYS[5] those who wait
-- ARGV[2] the holder, ARGV[3] its version's number, ARGV[4] how long a free lock is remembered, in ms,
-- ARGV[5] 'force' by order of a person, which is taken in quarantine too, and whatever the version's number,
-- ARGV[6] and ARGV[7] as ARGV[4] and ARGV[5] of release
-- Returns {1, time} removed, {0, time} there is no such hold, {'Q', …}, {'X', …}, {'R', …} see doubt()

-- include functions

local floor = admitted(redis.call('GET', KEYS[1]))
local no = (not floor or came_along) and doubt(floor)
if no and not (no[1] == 'Q' and ARGV[5] == 'force') then
  return no
end
local lock = parse(redis.call('GET', KEYS[3]))
local counter = tonumber(redis.call('GET', KEYS[2]) or '0')
if not lock or not counter then
  return not_ours(lock and KEYS[2] or KEYS[3])
end
local holder = lock.holder
if holder ~= ARGV[2] or (ARGV[5] ~= 'force' and tonumber(lock.seq) ~= tonumber(ARGV[3])) then
  return {0, now_text}
end
lock.c = text(math.max(tonumber(lock.c), tonumber(lock.token), counter) + 1)
if not alone then
  lock.ticket = text(math.max(tonumber(lock.ticket), tonumber(lock.token)))  -- it does not come back by a renewal
end
lock.dead = with_tombstone(lock.dead, holder)
lock.hold = ''
lock.free_since = now_text
redis.call('SET', KEYS[2], lock.c)
redis.call('SET', KEYS[3], packed(lock), 'PX', remembered(lock, ARGV[4]))
if not alone then
  redis.pcall('PUBLISH', ARGV[6], ARGV[7])
end
if lock.queued == '0' then
  return {1, now_text}
end

-- include queue

wake_first(KEYS[4], KEYS[5])
return {1, now_text}
