-- What may this user not do of all that the other scripts do? Redis says that a script was stopped, not at which command; who
-- has to mend the ACL wants to know.
--
-- KEYS[1]  a key for trying, which holds nothing, KEYS[2] the hash of counters
-- ARGV[1]  a channel of ours
-- Returns  the names of the commands, in lower case; '~' where it is our keys, '&' where it is our channels

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

try('GETRANGE', KEYS[1], 0, 0)
try('PEXPIRE', KEYS[2], 60000, 'XX')  -- of a key that never expires: nothing happens
try('TIME')
try('HGET', KEYS[2], '0')
try('PUBLISH', ARGV[1], '')
if try('PTTL', KEYS[1]) and redis.pcall('PTTL', KEYS[1]) == -2 and try('DEL', KEYS[1]) then
  -- Nothing is there, and what these leave goes again.
  try('SET', KEYS[1], '', 'PX', 1)
  redis.pcall('DEL', KEYS[1])
  try('HSET', KEYS[1], '0', '0')
  redis.pcall('DEL', KEYS[1])
end
return denied
