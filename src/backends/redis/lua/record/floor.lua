-- The highest number that this server knows to have been given, by itself or before its floor was set. For another that has forgotten.
--
-- KEYS    after the marker: the counters of all buckets
-- Returns {1, time, number}, {'Q', …} it may have forgotten itself; its number is in the fourth place then, {'X', …}, {'R', …}

-- include functions

local open = admitted(redis.call('GET', KEYS[1]))
local no = (not open or came_along) and doubt(open)
if no and no[1] ~= 'Q' then
  return no
end
local most = open or tonumber(string.match(no[3], ' (%d+)$'))
local from = 2
while from <= #KEYS do  -- unpack takes no thousands at once
  local some = {}
  for i = from, math.min(from + 255, #KEYS) do
    some[#some + 1] = KEYS[i]
  end
  for _, counter in pairs(redis.call('MGET', unpack(some))) do
    most = math.max(most, tonumber(counter or '0') or 0)
  end
  from = from + 256
end
if no then
  return {'Q', now_text, no[3], text(most)}
end
return {1, now_text, text(most)}
