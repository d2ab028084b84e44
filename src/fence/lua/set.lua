-- SET, if the token is current.
--
-- KEYS[1] the mark, KEYS[2] the key
-- ARGV[1] the token, ARGV[2] the value, ARGV[3] the time to live in milliseconds, if it has one
-- Returns OK, or the error STALE <token> <highest seen>, BADTOKEN, BADMARK, BADKEY, or what Redis says

-- include admit
if KEYS[2] == KEYS[1] then
  return {err = 'BADKEY the mark of a resource is no place for data'}
end
-- include raise
local done = ARGV[3] and redis.pcall('SET', KEYS[2], ARGV[2], 'PX', ARGV[3]) or redis.pcall('SET', KEYS[2], ARGV[2])
if done.err then
-- include put_back
end
return done
