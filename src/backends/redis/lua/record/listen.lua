-- Those of one client who wait for a lock can be told of their turn from now on. One request for all of them.
--
-- KEYS[2] the lock, KEYS[3] the queue, KEYS[4] those who wait
-- ARGV[2] the client's channel, then the owners
-- Returns {1, time}, {'R', time}

-- include functions

local no = came_along and doubt(true)
if no then
  return no
end

-- include queue

local lock = parse(redis.call('GET', KEYS[2]))
if not lock then
  return not_ours(KEYS[2])
end
for i = 3, #ARGV - 1 do
  local ticket, _, _, rest = string.match(redis.call('HGET', KEYS[4], ARGV[i]) or '', '^(%d+) (%d+) (%S*) (.*)$')
  if ticket then
    redis.call('HSET', KEYS[4], ARGV[i], ticket .. ' ' .. text(now + waiter_lease) .. ' ' .. ARGV[2] .. ' ' .. rest)
    redis.call('ZADD', KEYS[3], ticket, ARGV[i])  -- it may have been passed over meanwhile
  end
end
if lock.hold == '' and lock.queued == '1' and wake_first(KEYS[3], KEYS[4]) then
  lock.free_since = now_text  -- its claim time begins now
  redis.call('SET', KEYS[2], packed(lock), 'KEEPTTL')
end
return {1, now_text}
