-- What is known of some locks. Reads only.
--
-- KEYS    after the marker: for each lock the lock, its queue, those who wait
-- ARGV[2] 'all' for each of them, or 'used' for those that are held or waited for
-- Returns {time, marker, number, record, waiters, ...}: the number is that of the lock among those asked for; waiters is a list of
--         owner, entry, owner, entry, … in the order of their tickets

-- include functions

-- include queue

local answer = {now_text, redis.call('GET', KEYS[1]) or ''}
local most = 1000  -- of those who wait, for each lock

local function waiters_of(queue, waiters)
  local found = {}
  local owners = redis.call('ZRANGE', queue, 0, most - 1)
  if #owners > 0 then
    local entries = redis.call('HMGET', waiters, unpack(owners))
    for i, owner in ipairs(owners) do
      local _, lease_end = waiter_in(entries[i])
      if not silent(lease_end) then
        found[#found + 1] = owner
        found[#found + 1] = entries[i]
      end
    end
  end
  return found
end

for i = 0, (#KEYS - 1) / 3 - 1 do
  local record = redis.pcall('GET', KEYS[3 * i + 2])
  local lock = type(record) ~= 'table' and parse(record)
  if type(record) == 'table' and not string.find(record.err, 'WRONGTYPE', 1, true) then
    return record
  end
  local waiters = lock and lock.queued == '1' and waiters_of(KEYS[3 * i + 3], KEYS[3 * i + 4]) or {}
  if lock and (ARGV[2] == 'all' or lock.hold ~= '' or #waiters > 0) then
    answer[#answer + 1] = i
    answer[#answer + 1] = record or ''
    answer[#answer + 1] = waiters
  elseif ARGV[2] == 'all' then
    return not_ours(KEYS[3 * i + 2])
  end
end
return answer
