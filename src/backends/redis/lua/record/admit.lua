-- Ends the quarantine: the caller has observed it for longer than any lease lasts, or an operator
-- orders it. The floor is above every token granted before: above what a majority of the other
-- servers remembers or, where memory is lost, above this server's clock, the caller's clock and any
-- token still remembered here.
--
-- ARGV[2] the marker of the observed quarantine; '' if an operator orders the end of any quarantine
-- ARGV[3] no token at or below this is granted
-- ARGV[4] the caller's wall clock in microseconds, or 'counted' where a majority of the other
--         servers remembers
-- ARGV[5] how far the two clocks may be apart, in microseconds. One wrong clock must not raise the
--         floor without limit, so only an operator ends the quarantine when they are farther apart
-- Returns {1, time} the server grants locks, {'C', time} the clocks are too far apart,
--         {'Q', time, marker} another quarantine has begun, {'X', …}, {'R', time}

-- include functions

local open = admitted(redis.call('GET', KEYS[1]))
local no = (not open or came_along) and doubt(open)
if not no then
  return {1, now_text}
end
if no[1] ~= 'Q' or (ARGV[2] ~= '' and ARGV[2] ~= no[3]) then
  return no
end
local floor = math.max(tonumber(string.match(no[3], ' (%d+)$')), tonumber(ARGV[3]))
if ARGV[4] ~= 'counted' then
  local caller = tonumber(ARGV[4])
  if ARGV[2] ~= '' and math.abs(caller - now) > tonumber(ARGV[5]) then
    return {'C', now_text}
  end
  floor = math.max(floor, math.max(now, caller) + 10000000)  -- tokens may run 10 s ahead of a clock
end
if floor > highest then
  return {err = 'ERR a floor of ' .. text(floor) .. ' would use the tokens up'}
end
redis.call('SET', KEYS[1], 'A ' .. life .. ' ' .. ARGV[1] .. ' ' .. text(floor))
return {1, now_text}
