-- Renews many locks: each one's expiry is set anew if it is still its owner's. One that is not touches no other.
--
-- KEYS     the locks
-- ARGV     for each lock, the part of the value that is the owner's alone, then the ttl in ms
-- Returns  a text with one digit for each lock: 1 renewed, 0 not this owner's any more

local renewed = {}
for i, key in ipairs(KEYS) do
  local mark = ARGV[2 * i - 1]
  local value = redis.pcall('GETRANGE', key, 0, #mark - 1)  -- an error table where it is no string: not ours
  renewed[i] = value == mark and redis.call('PEXPIRE', key, ARGV[2 * i]) or 0
end
return table.concat(renewed)
