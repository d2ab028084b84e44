-- Ends the quarantine: whoever asks has watched it for longer than any lease lasts, or is told so by a person. Tokens go on
-- above whatever was given before, as far as clocks can tell.
--
-- ARGV[2] the marker of the quarantine that was watched; '' by order of a person: whatever it is
-- Returns {1, time} it gives out locks, {'Q', time, marker} another quarantine has begun, {'X', …}, {'R', time}

local marker = redis.call('GET', KEYS[1])
if admitted(marker) then
  return outdated() and {'R', now_text} or {1, now_text}
end
local why = closed()
if why[1] ~= 'Q' or (ARGV[2] ~= '' and ARGV[2] ~= why[3]) then
  return why
end
local floor = math.max(tonumber(string.match(why[3], ' (%d+)$')), now + 10000000)
redis.call('SET', KEYS[1], 'A ' .. life .. ' ' .. ARGV[1] .. ' ' .. text(floor))
return {1, now_text}
