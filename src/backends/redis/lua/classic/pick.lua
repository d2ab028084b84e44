-- Of many keys, those that are locks of ours: for a list of all. Others' values may be huge, so that only the beginning
-- of each is looked at, and nothing of them is returned.
--
-- KEYS     keys that a SCAN has found
-- Returns  name, value, pttl of each that is ours, one after the other

local found = {}
for _, key in ipairs(KEYS) do
  local beginning = redis.pcall('GETRANGE', key, 0, 8)
  if type(beginning) == 'table' and not string.find(beginning.err, 'WRONGTYPE', 1, true) then
    return beginning
  end
  if beginning == 'cremone1:' then
    found[#found + 1] = key
    found[#found + 1] = redis.call('GETRANGE', key, 0, 511)
    found[#found + 1] = redis.call('PTTL', key)
  end
end
return found
