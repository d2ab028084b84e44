-- Renews many locks: each one's expiry is set anew if it is still its owner's. One that is not, or that the server will
-- not let us see, touches no other.
--
-- KEYS     the locks
-- ARGV     for each lock, the part of the value that is the owner's alone, then the ttl in ms
-- Returns  a text with one digit for each lock: 1 renewed, 0 not this owner's any more, 2 it cannot be told
-- Fails    as the first write does where the server takes none, being a replica or without enough of them: that is about
--          the server and not about one lock, and may mean that another one is the master now

local renewed = {}
for i, key in ipairs(KEYS) do
  local mark = ARGV[2 * i - 1]
  local answer = redis.pcall('GETRANGE', key, 0, #mark - 1)
  if answer == mark then
    answer = redis.pcall('PEXPIRE', key, ARGV[2 * i])
  end
  if type(answer) == 'table' then
    if string.find(answer.err, 'READONLY', 1, true) or string.find(answer.err, 'NOREPLICAS', 1, true) then
      return answer
    end
    -- Something that is no string is no lock of ours. Any other error says nothing about whose it is.
    renewed[i] = string.find(answer.err, 'WRONGTYPE', 1, true) and 0 or 2
  else
    renewed[i] = answer == 1 and 1 or 0
  end
end
return table.concat(renewed)
