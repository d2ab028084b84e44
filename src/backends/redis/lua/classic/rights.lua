-- Which of the commands that the other scripts use may this user not run? Redis says that a script was stopped, not at
-- which command; who has to mend the ACL wants to know.
--
-- KEYS[1]  a key for trying, which holds nothing, KEYS[2] the hash of counters
-- ARGV[1]  a channel of ours
-- Returns  the names of the commands, in lower case

local denied = {}
local function try(...)
  local answer = redis.pcall(...)
  if type(answer) == 'table' and answer.err and (string.find(answer.err, "can't", 1, true) or string.find(answer.err, 'NOPERM', 1, true)) then
    denied[#denied + 1] = string.lower((...))
    return false
  end
  return true
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
