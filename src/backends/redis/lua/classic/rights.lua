-- What may this user not do of all that the other scripts do? Redis says that a script was stopped, not at which command; who
-- has to mend the ACL wants to know.
--
-- KEYS[1]  a key for trying, which holds nothing, KEYS[2] the hash of counters
-- ARGV[1]  a channel of ours
-- Returns  the names of the commands, in lower case; '~' where it is our keys, '&' where it is our channels

local denied, known = {}, {}
local function try(command, ...)
  local answer = redis.pcall(command, ...)
  local said = type(answer) == 'table' and answer.err or ''
  if not string.find(said, "can't", 1, true) and not string.find(said, 'NOPERM', 1, true) then
    return true
  end
  local what = string.find(said, 'the keys', 1, true) and '~' or string.find(said, 'the channel', 1, true) and '&' or string.lower(command)
  if not known[what] then
    known[what] = true
    denied[#denied + 1] = what
  end
  return false
end

try('GETRANGE', KEYS[1], 0, 0)
try('PEXPIRE', KEYS[2], 60000, 'XX')  -- of a key that never expires: nothing happens
try('TIME')
try('HGET', KEYS[2], '0')
try('PUBLISH', ARGV[1], '')
if try('PTTL', KEYS[1]) and redis.call('PTTL', KEYS[1]) == -2 and try('DEL', KEYS[1]) then
  -- Nothing is there, and what these leave goes again.
  try('SET', KEYS[1], '', 'PX', 1)
  redis.call('DEL', KEYS[1])
  try('HSET', KEYS[1], '0', '0')
  redis.call('DEL', KEYS[1])
end
return denied
