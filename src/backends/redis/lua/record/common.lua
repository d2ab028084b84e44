-- The beginning of every script of the layout `record`. Before it stands one line of the client's making:
--   local run = '<run id>'
-- the life of the server that this text is for. A server keeps no texts when it ends, so that a text of an earlier life is
-- not known to it (NOSCRIPT): who asks then reads the run id again and makes a new text. It costs nothing per call.
--
-- KEYS[1]  the marker: 'A <run> <settings> <floor>' when this server may give out locks, 'Q <run> <since> <why> <floor>' when
--          it may not: it has restarted, was emptied or was promoted, and may have forgotten who holds what
-- ARGV[1]  the settings that all who use this prefix must share
-- ARGV[n]  the last one: '+' when the text came along (EVAL), '-' when the server knew it
--
-- Times are the server's, in microseconds. Only the order of those who wait rests on them, and the height of tokens;
-- never who holds a lock. Every answer carries the time, so that the client notices when the clock was set.
--
-- A lock is one string: '1 <c> <ticket> <free since> <queued> <dead> <gone>\n<hold>'
--   c         no token at or below it will be given     ticket   the last one given
--   queued    1 when others may be waiting              dead, gone   16 digits each of the last holders and contenders that
--                                                       are gone for good: a late request of theirs is turned away
--   hold      '' or '<owner> <seq> <ttl> <mode> <token>\n<who>'
-- It is read whole and written whole, the counter of its bucket with it. A held one never expires; a free one does, when no
-- request of the dead can be under way any more.

local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]

local claim_time = 500000        -- the head's time to take a free lock
local waiter_lease = 30000000    -- who has not asked for so long has left
local most_waiters = 100000
local most_skipped = 1000        -- in one call
local missed = 4503599627370496  -- 2^52, added to the ticket of one who let its time pass: behind all who did not
local highest = 9007194959773696 -- 2^53 - 2^32: beyond 2^53 one more would be the same number again

-- Never tostring, which rounds to 14 digits.
local function text(number)
  return string.format('%.0f', number)
end

-- Writes down that this life of the server may have forgotten, unless that is known. What stands at the marker's key and is
-- no string is not ours to write over: GET raises.
local function quarantine(life)
  local marker = redis.call('GET', KEYS[1])
  local known, rest = string.match(marker or '', '^%u (%x+) (.*)$')
  if known ~= life then
    local floor = string.match(rest or '', ' (%d+)$') or '0'
    marker = 'Q ' .. life .. ' ' .. text(now) .. (marker and ' foreign ' or ' missing ') .. floor
    redis.call('SET', KEYS[1], marker)
  end
  return marker
end

local function life()
  return string.match(redis.call('INFO', 'server'), 'run_id:(%x+)')
end

-- Was this text made for another life of the server? Whoever sent it along had read the run id a moment before, and behind a
-- proxy the server may have been another one by then. From now on it knows this text; so that nobody who still believes in that
-- life gets a lock by it, the marker is changed in the same step.
local function outdated()
  if ARGV[#ARGV] == '-' then
    return false
  end
  local real = life()
  if real ~= run then
    quarantine(real)
  end
  return real ~= run
end

-- The floor, when this server may give out locks.
local function admitted(marker)
  local wanted = 'A ' .. run .. ' ' .. ARGV[1] .. ' '
  if marker and string.sub(marker, 1, #wanted) == wanted then
    return tonumber(string.sub(marker, #wanted + 1))
  end
end

-- What to say when it may not; and from now on it knows since when.
local function closed(marker)
  local real = life()
  if real ~= run then
    quarantine(real)
    return {'R', text(now)}
  end
  local state, known, rest = string.match(marker or '', '^(%u) (%x+) (.*)$')
  if state == 'A' and known == run then
    return {'X', text(now), rest}
  end
  return {'Q', text(now), quarantine(run)}
end

-- A key that MGET shows as empty may hold something that is no string. Raises what Redis says to that.
local function surely_empty(key)
  if redis.call('EXISTS', key) == 1 then
    redis.call('GET', key)
  end
end

local function not_ours(key)
  return {err = 'WRONGTYPE ' .. key .. ' is no record of cremone'}
end

local function parse(record)
  if not record then
    return {c = 0, ticket = 0, free_since = 0, queued = '0', dead = '', gone = '', hold = ''}
  end
  local c, ticket, free_since, queued, dead, gone, hold =
    string.match(record, '^1 (%d+) (%d+) (%d+) (%d) (%x*) (%x*)\n(.*)$')
  if c then
    return {c = tonumber(c), ticket = tonumber(ticket), free_since = tonumber(free_since), queued = queued,
            dead = dead, gone = gone, hold = hold}
  end
end

local function packed(lock)
  return '1 ' .. text(lock.c) .. ' ' .. text(lock.ticket) .. ' ' .. text(lock.free_since) .. ' ' .. lock.queued .. ' ' ..
    lock.dead .. ' ' .. lock.gone .. '\n' .. lock.hold
end

local function holder_of(lock)
  return string.match(lock.hold, '^(%x+) (%d+) (%d+) (%a) (%d+)\n')
end

-- The last eight are kept: more requests of those who are gone are not under way at once.
local function with_tombstone(dead, owner)
  return string.sub(dead .. string.sub(owner, 1, 16), -128)
end

local function buried(lock, owner)
  local id = string.sub(owner, 1, 16)
  return string.find(lock.dead, id, 1, true) or string.find(lock.gone, id, 1, true)
end

-- Who waits: KEYS of a sorted set by ticket, and of a hash with '<ticket> <end of its lease> <channel> <mode>\n<who>'.
local function waiter_in(entry)
  local ticket, lease_end, channel = string.match(entry or '', '^(%d+) (%d+) (%S*) ')
  return tonumber(ticket), tonumber(lease_end), channel
end

-- An end further ahead than a lease is long was made before the clock was set back.
local function silent(lease_end)
  return not lease_end or lease_end <= now or lease_end > now + waiter_lease
end

-- Can it be told of its turn? One that is about to listen says so by a '-', which is believed for a second. When the server does
-- not let us ask, everybody counts, and costs the others its claim time.
local function listens(channel, lease_end)
  local soon, name = string.match(channel, '^(%-?)(.*)$')
  if soon == '-' and now - (lease_end - waiter_lease) < 1000000 then
    return true
  end
  local count = redis.pcall('PUBSUB', 'NUMSUB', name)
  return count.err or tonumber(count[2]) > 0
end

-- A hint: that it fails must not turn what is done into an error.
local function tell(owner, channel)
  redis.pcall('PUBLISH', string.match(channel, '^%-?(.*)$'), owner)
end

-- The first who waits and still counts, its channel, and whether it has just become the first. Those in front who have left are
-- dropped; who cannot be told any more is passed over, but keeps its ticket should it ask again. Who is asking right now counts in any case.
local function first_waiter(queue, waiters, asking)
  for i = 1, most_skipped do
    local head = redis.call('ZRANGE', queue, 0, 0, 'WITHSCORES')
    if not head[1] or tonumber(head[2]) >= missed then
      return nil
    end
    local ticket, lease_end, channel = waiter_in(redis.call('HGET', waiters, head[1]))
    if silent(lease_end) then
      redis.call('ZREM', queue, head[1])
      redis.call('HDEL', waiters, head[1])
    elseif head[1] == asking or listens(channel, lease_end) then
      return head[1], channel, i > 1
    else
      redis.call('ZADD', queue, text(ticket + missed), head[1])
    end
  end
end

-- The lock is free: tells the first who can be told, and it alone.
local function wake_first(queue, waiters)
  pcall(function()
    local head, channel = first_waiter(queue, waiters)
    if head then
      tell(head, channel)
    end
  end)
end
