-- Takes the lock if it is free and nobody who waits is before us; else says who holds it, and our place if we wait.
--
-- KEYS[2] the bucket's counter, KEYS[3] the lock; KEYS[4] the queue, KEYS[5] those who wait, where there is a queue
-- ARGV[2] our owner id, 40 digits, ARGV[3] ttl in ms, ARGV[4] mode, ARGV[5] our clock, as a proposal for the token,
-- ARGV[6] who we are; where there is a queue: ARGV[7] '1' to wait when refused, ARGV[8] the channel on which we hear of our turn
-- Returns {1, time, token, ticket}    granted; where several servers vote: this one's vote, and the number that it gave
--         {2, time, token, ticket}    this owner held it already: an earlier request had arrived
--         {0, time, place, hold, renewed}   not now; place -1 when we do not wait; no hold: it is
--                                     kept for those before us; renewed: the time of the hold's
--                                     grant or last renewal
--         {'D', time}                 this owner is gone for good
--         {'Q', time, marker}, {'X', time, settings}, {'R', time}   see doubt()

local got = redis.call('MGET', KEYS[1], KEYS[2], KEYS[3])
local owner = ARGV[2]

-- The usual case: the marker is as it should be, the lock is free, nobody waits, and the number proposed, or the clock's, is
-- above all that was given. Does what all that follows would do; where anything is not quite so, that decides.
local wanted = 'A ' .. life .. ' ' .. ARGV[1] .. ' '
if got[1] and got[2] and not came_along and string.find(got[1], wanted, 1, true) == 1 then
  local record = got[3]
  if not record then  -- nothing is known of it, or what stands there is no string
    record = redis.call('EXISTS', KEYS[3]) == 0 and '1 0 0000000000000000 0000000000000000 0000000000000000  \n' or ''
  end
  local free = plain(record) and string.find(record, '\n', 56, true) == #record
    and not string.find(record, string.sub(owner, 1, 16), 56, true)
  local floor, counter, c = tonumber(string.sub(got[1], #wanted + 1)), tonumber(got[2]), tonumber(string.sub(record, 5, 20))
  local number, ticket = tonumber(ARGV[5]), string.sub(record, 22, 37)
  if alone then
    number = math.max(number, now)
    free = free and tonumber(ticket) < now
    ticket = now_text
  end
  if free and floor and counter and number > math.max(floor, counter, c) and number <= math.min(highest, now + 10000000) then
    local token = number == now and now_text or string.format('%016d', number)
    redis.call('MSET', KEYS[2], token, KEYS[3], '1 0 ' .. token .. ' ' .. ticket .. ' ' .. now_text ..
      string.sub(record, 55) .. owner .. ' ' .. token .. ' ' .. ARGV[3] .. ' ' .. ARGV[4] .. ' ' .. token .. '\n' .. ARGV[6])
    return {1, now_text, token, alone and ticket or '0000000000000000'}
  end
end

-- include functions

local floor = admitted(got[1])
if not floor or came_along then
  local no = doubt(floor)
  if no then
    return no
  end
end
if not got[3] then
  surely_empty(KEYS[3])
end
local lock = parse(got[3])
if not lock then
  return not_ours(KEYS[3])
end

if buried(lock, owner) then
  return {'D', now_text}
end
local holder = lock.holder
if holder == owner then
  return {2, now_text, lock.token, lock.ticket}
end

-- Grows by every grant. What a server has forgotten is made up for by the clock: the server's, or ours where that is ahead, by
-- no more than 10 s, so that one client whose clock is wrong cannot use the numbers up. Where several vote, all must give the same
-- number, which is the one proposed, if nothing is against it.
local function give(ticket)
  if not got[2] then
    surely_empty(KEYS[2])
  end
  local counter = tonumber(got[2] or '0')
  local last = tonumber(lock.c)
  if not counter or counter > highest or last > highest then
    return not_ours(KEYS[2])
  end
  if not alone then
    ticket = 0  -- nobody waits here
  elseif not ticket then
    ticket = math.max(tonumber(lock.ticket) + 1, now)
    lock.ticket = text(ticket)
  end
  last = math.max(last, counter, floor)
  if alone then
    lock.c = text(math.max(last + 1, now, math.min(tonumber(ARGV[5]), now + 10000000)))
  else
    lock.c = text(number_above(last, tonumber(ARGV[5]), true))
  end
  -- After a loss of memory, tokens count up from the floor and may repeat. Adding microseconds
  -- makes the version differ.
  local seq = text(tonumber(lock.c) + now % 1000000)
  lock.hold = owner .. ' ' .. seq .. ' ' .. ARGV[3] .. ' ' .. ARGV[4] .. ' ' .. lock.c .. '\n' .. ARGV[6]
  lock.free_since = now_text
  redis.call('MSET', KEYS[2], lock.c, KEYS[3], packed(lock))
  return {1, now_text, lock.c, text(ticket)}
end

if not holder and lock.queued == '0' then
  return give()
end

-- include queue

-- Our place among those who count, our ticket if we have one.
local ahead, ticket = 0, nil
if lock.queued == '1' then
  local lease_end
  ticket, lease_end = waiter_in(redis.call('HGET', KEYS[5], owner))
  if ticket and silent(lease_end) then  -- it was given up; it comes as a new one
    redis.call('ZREM', KEYS[4], owner)
    redis.call('HDEL', KEYS[5], owner)
    ticket = nil
  elseif ticket then
    redis.call('ZADD', KEYS[4], text(ticket), owner)  -- it counts again, should it have been passed over
  end
  local head, channel, news = first_waiter(KEYS[4], KEYS[5], owner)
  if news then
    if lock.hold == '' then  -- its claim time begins now
      lock.free_since = now_text
      redis.call('SET', KEYS[3], packed(lock), 'KEEPTTL')
    end
    if head ~= owner then
      tell(head, channel)  -- that it is the first now: who is first watches the holder closely
    end
  end
  if ticket and head ~= owner then
    ahead = redis.call('ZRANK', KEYS[4], owner)
  elseif not ticket and not holder then
    ahead = redis.call('ZCOUNT', KEYS[4], '-inf', '(' .. text(missed))
  end
end

-- A free lock is kept for the head; who lets its claim time pass is passed over by whoever asks next. So a dead waiter costs
-- the others its claim time and no more, and a mere try overtakes nobody who is alive.
if not holder and ahead > 0 then
  local free_since = math.min(tonumber(lock.free_since), now)  -- the clock may have been set back
  local late = now - free_since >= claim_time and redis.call('ZRANGE', KEYS[4], 0, 0)[1]
  if late then  -- one at a time: whoever is first then is told, and has its own claim time
    redis.call('ZADD', KEYS[4], text((waiter_in(redis.call('HGET', KEYS[5], late)) or now) + missed), late)
    free_since = now
    ahead = ahead - 1
  end
  if ahead > 0 and free_since ~= tonumber(lock.free_since) then
    lock.free_since = text(free_since)
    redis.call('SET', KEYS[3], packed(lock), 'KEEPTTL')
    if late then
      wake_first(KEYS[4], KEYS[5])
    end
  end
end

if not holder and ahead <= 0 then
  lock.queued = redis.call('ZCARD', KEYS[4]) > (ticket and 1 or 0) and '1' or '0'
  local answer = give(ticket)
  if ticket and not answer.err then
    redis.call('ZREM', KEYS[4], owner)
    redis.call('HDEL', KEYS[5], owner)
  end
  return answer
end
if ARGV[7] ~= '1' then
  return {0, now_text, -1, lock.hold, lock.free_since}
end

-- Stays in the queue, or enters it.
local fresh = not ticket
if fresh then  -- two of those who were passed over are looked at for each who comes: the dead among them go
  for _, late in ipairs(redis.call('ZRANGEBYSCORE', KEYS[4], text(missed), '+inf', 'LIMIT', 0, 2)) do
    local _, lease_end = waiter_in(redis.call('HGET', KEYS[5], late))
    if silent(lease_end) then
      redis.call('ZREM', KEYS[4], late)
      redis.call('HDEL', KEYS[5], late)
    end
  end
  if redis.call('ZCARD', KEYS[4]) >= most_waiters then
    return {0, now_text, -1, lock.hold, lock.free_since}
  end
  ticket = math.max(tonumber(lock.ticket) + 1, now)
end
redis.call('HSET', KEYS[5], owner,
  text(ticket) .. ' ' .. text(now + waiter_lease) .. ' ' .. ARGV[8] .. ' ' .. ARGV[4] .. '\n' .. ARGV[6])
if fresh then
  redis.call('ZADD', KEYS[4], text(ticket), owner)
  lock.ticket = text(ticket)
  lock.queued = '1'
  redis.call('SET', KEYS[3], packed(lock), 'KEEPTTL')
end
redis.call('PEXPIRE', KEYS[4], 2 * waiter_lease / 1000)
redis.call('PEXPIRE', KEYS[5], 2 * waiter_lease / 1000)
return {0, now_text, redis.call('ZRANK', KEYS[4], owner), lock.hold, lock.free_since}
