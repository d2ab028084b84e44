-- Deletes the lock if it is still this owner's, and tells those who wait. Compare and delete are one step: between a
-- GET and a DEL of the client's the lock could have become another's.
--
-- KEYS[1]  the lock
-- ARGV[1]  the part of the value that is the owner's alone, ARGV[2] the channel of the lock's bucket
-- Returns  1 deleted, 0 it was not this owner's

if redis.call('GETRANGE', KEYS[1], 0, #ARGV[1] - 1) ~= ARGV[1] then
  return 0
end
redis.call('DEL', KEYS[1])
if ARGV[2] ~= '' then  -- else one who had a vote and not the lock gives it back
  redis.pcall('PUBLISH', ARGV[2], KEYS[1])  -- a hint: it must not turn a release that is done into an error
end
return 1
