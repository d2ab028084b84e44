-- Deletes the lock of one holder, whoever asks. Only if it is still that holder's: an order that comes late must not hit
-- the next one. Something that is no string is no lock, and is left alone (WRONGTYPE).
--
-- KEYS[1]  the lock
-- ARGV[1]  the holder, as 40 hex digits: the owner id of one of ours, or the SHA-1 of what is shown of a foreign value
-- ARGV[2]  the channel of the lock's bucket
-- ARGV[3]  'ours': only a holder of our own kind; 'any': also a foreign one
-- Returns  1 deleted, 0 no such holder

local value = redis.call('GETRANGE', KEYS[1], 0, 511)
if value == '' and redis.call('PTTL', KEYS[1]) == -2 then
  return 0
end
local ours = string.sub(value, 1, 50) == 'cremone1:' .. ARGV[1] .. ':'
if not ours and (ARGV[3] ~= 'any' or redis.sha1hex(value) ~= ARGV[1]) then
  return 0
end
redis.call('DEL', KEYS[1])
redis.pcall('PUBLISH', ARGV[2], KEYS[1])
return 1
