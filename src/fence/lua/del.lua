-- DEL, if the token is current.
--
-- KEYS[1] the mark, KEYS[2] and so on the keys
-- ARGV[1] the token
-- Returns how many keys there were, or the error STALE <token> <highest seen>, BADTOKEN, BADMARK, BADKEY, TOOMANY, or what Redis says

-- include admit
for i = 2, #KEYS do
  if KEYS[i] == KEYS[1] then
    return {err = 'BADKEY the mark of a resource is no place for data'}
  end
end
if #KEYS > 7001 then  -- Lua has room for 8000 values at once; it must not end between the mark and the data
  return {err = 'TOOMANY at most 7000 keys at once'}
end
if raised then
  -- A server without memory refuses SET, but not PERSIST, which changes nothing here; and after a first write it refuses nothing more.
  -- So a full server can be emptied.
  redis.pcall('PERSIST', KEYS[1])
end
-- include raise
local done = redis.pcall('DEL', unpack(KEYS, 2))
if type(done) == 'table' then
-- include put_back
end
return done
