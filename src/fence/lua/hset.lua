-- HSET, if the token is current.
--
-- KEYS[1] the mark, KEYS[2] the key
-- ARGV[1] the token, then field, value, field, value, …
-- Returns how many fields are new, or the error STALE <token> <highest seen>, BADTOKEN, BADMARK, BADKEY, TOOMANY, or what Redis says

-- include admit
if KEYS[2] == KEYS[1] then
  return {err = 'BADKEY the mark of a resource is no place for data'}
end
if #ARGV > 7001 then  -- Lua has room for 8000 values at once; it must not end between the mark and the data
  return {err = 'TOOMANY at most 3500 fields at once'}
end
-- include raise
local done = redis.pcall('HSET', KEYS[2], unpack(ARGV, 2))
if type(done) == 'table' then
-- include put_back
end
return done
