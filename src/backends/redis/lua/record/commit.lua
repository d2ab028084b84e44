-- Gives the vote that this owner has another number: those that the servers gave first were not all the same.
--
-- KEYS[2] the bucket's counter, KEYS[3] the lock
-- ARGV[2] the owner, ARGV[3] the number that is proposed: above all that the servers have given. No clock bounds it, else one
--         counter that ran ahead would keep a majority from ever agreeing
-- Returns {1, time, token} the vote is this owner's, and the number that it has now, {0, time} it is not its any more,
--         {'Q', …}, {'X', …}, {'R', …} see doubt()

-- include functions

local got = redis.call('MGET', KEYS[1], KEYS[2], KEYS[3])
local floor = admitted(got[1])
local no = (not floor or came_along) and doubt(floor)
if no then
  return no
end
local lock = parse(got[3])
local counter = tonumber(got[2] or '0')
if not lock or not counter or counter > highest then
  return not_ours(lock and KEYS[2] or KEYS[3])
end
if lock.holder ~= ARGV[2] then
  return {0, now_text}
end
lock.c = text(number_above(math.max(tonumber(lock.c), counter, floor), tonumber(ARGV[3]), false))
lock.hold = string.gsub(lock.hold, ' %d+\n', ' ' .. lock.c .. '\n', 1)
redis.call('MSET', KEYS[2], lock.c, KEYS[3], packed(lock))
return {1, now_text, lock.c}
