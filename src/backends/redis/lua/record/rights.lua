-- What may this user not do of all that the other scripts do? Redis says that a script was stopped, not at which command; who
-- has to mend the ACL wants to know. Leaves everything as it was.
--
-- KEYS[1] the marker, KEYS[2] to KEYS[4] keys for trying, which hold nothing
-- ARGV[1] a channel of ours
-- Returns the names of the commands, in lower case; '~' where it is our keys, '&' where it is our channels

local denied, known = {}, {}
local function try_as(name, command, ...)
  local answer = redis.pcall(command, ...)
  local said = type(answer) == 'table' and answer.err or ''
  -- Nothing else is about rights, at which Redis looks first: a replica or a full server refuses what the user may do.
  if not string.find(said, "The user executing the script can't", 1, true) and not string.find(said, 'NOPERM', 1, true)
      and not string.find(said, 'ACL failure in script', 1, true) then  -- the last since Redis 7.2
    return true
  end
  local what = name
  if not string.find(said, ' run th', 1, true) then  -- "run this command", "run the 'get' command"
    what = string.find(said, 'channel', 1, true) and '&' or string.find(said, 'key', 1, true) and '~' or name
  end
  if not known[what] then
    known[what] = true
    denied[#denied + 1] = what
  end
  return false
end
local function try(command, ...)
  return try_as(string.lower(command), command, ...)
end

try('TIME')
try('INFO', 'server')
try('GET', KEYS[1])
try('MGET', KEYS[1])
try('PUBLISH', ARGV[1], '')
try_as('pubsub|numsub', 'PUBSUB', 'NUMSUB', ARGV[1])
try('EXISTS', KEYS[2])
try('ZRANGE', KEYS[2], 0, 0)
try('ZRANGEBYSCORE', KEYS[2], 0, 0)
try('ZRANK', KEYS[2], '')
try('ZCARD', KEYS[2])
try('ZCOUNT', KEYS[2], 0, 0)
try('ZREM', KEYS[2], '')
try('HGET', KEYS[3], '')
try('HMGET', KEYS[3], '')
try('HDEL', KEYS[3], '')
if try('PEXPIRE', KEYS[2], 1) then  -- what these leave goes by itself
  try('ZADD', KEYS[2], 1, '')
  redis.pcall('PEXPIRE', KEYS[2], 1)
  try('HSET', KEYS[3], '', '')
  redis.pcall('PEXPIRE', KEYS[3], 1)
  try('MSET', KEYS[4], '')
  try('SET', KEYS[4], '', 'PX', 1)
  redis.pcall('PEXPIRE', KEYS[4], 1)
end
return denied
