-- Ends the quarantine: whoever asks has watched it for longer than any lease lasts, or is told so by a person. Tokens go on
-- above whatever was given before: above what a majority of others knows, or else as far as clocks can tell.
--
-- ARGV[2] the marker of the quarantine that was watched; '' by order of a person: whatever it is
-- ARGV[3] no token at or below this is given, ARGV[4] 'clock' when it must also be above the clock
-- Returns {1, time} it gives out locks, {'Q', time, marker} another quarantine has begun, {'X', …}, {'R', time}

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
if ARGV[4] == 'clock' then
  floor = math.max(floor, now + 10000000)
end
if floor > highest then
  return {err = 'ERR a floor of ' .. text(floor) .. ' would use the tokens up'}
end
redis.call('SET', KEYS[1], 'A ' .. life .. ' ' .. ARGV[1] .. ' ' .. text(floor))
return {1, now_text}
