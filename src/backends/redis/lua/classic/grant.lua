-- The published lock: SET name value NX PX ttl. With a fence token, and with what a refused caller needs to know.
-- Everything that is written is written by this one script, so that there is no moment between.
--
-- KEYS[1]  the lock, KEYS[2] the hash of counters, one field per bucket of names
-- ARGV[1]  our value, ARGV[2] ttl in ms, ARGV[3] the lock's bucket, ARGV[4] the part of the value that is ours alone
-- Returns  {1, token}         granted
--          {2, token}         this owner held it already: an earlier request had arrived
--          {0, value, pttl}   held by another; the first 512 bytes of its value
-- Fails    WRONGTYPE when something that is no string stands at the lock's name; nothing was changed then

-- max(last + 1, server's time in microseconds): grows by every grant, and a counter that was lost is made up for by the
-- clock. Below 2^53, where Lua's numbers are whole; never by tostring, which rounds to 14 digits.
local function next_token()
  local time = redis.call('TIME')
  local token = time[1] * 1000000 + time[2]
  local stored = redis.call('HGET', KEYS[2], ARGV[3])
  if not stored then
    -- A bucket's first. Redis keeps a small hash as a list and walks through it for every field, unless one of its
    -- values is longer than 64 bytes: this one.
    redis.call('HSET', KEYS[2], 'about', 'cremone: the last fence token of each bucket of lock names, layout classic')
  end
  local last = tonumber(stored or 0)
  if not last or last > 9007194959773696 then  -- 2^53 - 2^32: beyond 2^53 one more would be the same number again
    error({err = 'ERR the counter in ' .. KEYS[2] .. ' is not a token'})
  end
  if token <= last then
    token = last + 1
  end
  token = string.format('%.0f', token)
  redis.call('HSET', KEYS[2], ARGV[3], token)
  return token
end

local granted = 1
if not redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then
  local value = redis.call('GETRANGE', KEYS[1], 0, 511)
  if string.sub(value, 1, #ARGV[4]) ~= ARGV[4] then
    return {0, value, redis.call('PTTL', KEYS[1])}
  end
  granted = 2
end

local fine, token = pcall(next_token)
if not fine then
  if granted == 1 then
    redis.call('DEL', KEYS[1])
  end
  return type(token) == 'table' and token or {err = token}  -- Redis 7 makes a text of an error that pcall catches
end
return {granted, token}
