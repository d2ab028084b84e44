-- What the scripts of the layout `record` have in common beside their beginning. Stands where a script says `include functions`:
-- Lua makes them anew in each call, which the usual case of a grant and of a release need not pay for. It comes before them.

local waiter_lease = 30000000  -- who has not asked for so long has left

-- Never tostring, which rounds to 14 digits.
local function text(number)
  return number == now and now_text or string.format('%016d', number)
end

local function not_ours(key)
  return {err = 'WRONGTYPE ' .. key .. ' is no record of cremone'}
end

-- The floor, when this server may give out locks.
local function admitted(marker)
  local wanted = 'A ' .. life .. ' ' .. ARGV[1] .. ' '
  if marker and string.sub(marker, 1, #wanted) == wanted then
    return tonumber(string.sub(marker, #wanted + 1))
  end
end

-- What to say instead, when this server may not give out locks or this text was made for another life of it; nil when all is
-- well. Asked for only when the marker does not say what it should, or when the text came along: whoever sent it had read the ids
-- a moment before, and behind a proxy the server may have been another one by then. From now on it knows this text; so that
-- nobody who still believes in that life gets a lock by it, the marker is changed in the same step. And from now on it is known
-- since when the server may have forgotten.
--   {'R', time}            this is another life
--   {'X', time, settings}  the prefix is used with other settings
--   {'Q', time, marker}    quarantine
local function doubt(open)
  local real = string.match(redis.call('INFO', 'server'), 'run_id:(%x+)') .. '.' ..
    string.match(redis.call('INFO', 'replication'), 'master_replid2:(%x+)') .. '.' ..
    (string.match(redis.call('INFO', 'commandstats'), 'cmdstat_swapdb:calls=(%d+)') or '0') .. '/' .. db
  if open and real == life then
    return nil
  end
  -- The settings stay those of the life before: they say how long its leases may last. What stands there and is not ours is not
  -- written over; GET raises, or this does.
  local marker = redis.call('GET', KEYS[1])
  local known, settings, rest = string.match(marker or '', '^[AQ] (%S+) (%S+) (.*)$')
  if marker and not known then
    error(not_ours(KEYS[1]))
  end
  if known ~= real then
    settings = settings or ARGV[1]
    local floor = string.match(rest or '', '(%d+)$') or '0'
    marker = 'Q ' .. real .. ' ' .. settings .. ' ' .. now_text .. (known and ' foreign ' or ' missing ') .. floor
    redis.call('SET', KEYS[1], marker)
  end
  if real ~= life then
    return {'R', now_text}
  end
  if settings ~= ARGV[1] then
    return {'X', now_text, settings}
  end
  return {'Q', now_text, marker}
end

-- A key that MGET shows as empty may hold something that is no string. Raises what Redis says to that.
local function surely_empty(key)
  if redis.call('EXISTS', key) == 1 then
    redis.call('GET', key)
  end
end

local no_number = '0000000000000000'

local function parse(record)
  if not record then
    return {queued = '0', c = no_number, ticket = no_number, free_since = no_number, dead = '', gone = '', hold = ''}
  end
  local space = string.find(record, ' ', 56, true)
  local line = space and string.find(record, '\n', space, true)
  if not line or string.sub(record, 1, 2) .. string.sub(record, 4, 4) .. string.sub(record, 21, 21) ..
      string.sub(record, 38, 38) .. string.sub(record, 55, 55) ~= '1     ' then
    return nil
  end
  local lock = {queued = alone and string.sub(record, 3, 3) or '0',  -- where several vote there is no queue
                c = string.sub(record, 5, 20), ticket = string.sub(record, 22, 37),
                free_since = string.sub(record, 39, 54), dead = string.sub(record, 56, space - 1),
                gone = string.sub(record, space + 1, line - 1), hold = string.sub(record, line + 1)}
  if not (tonumber(lock.c) and tonumber(lock.ticket) and tonumber(lock.free_since)) then
    return nil
  end
  if lock.hold ~= '' then
    lock.holder, lock.seq, lock.token = string.match(lock.hold, '^(%x+) (%d+) %d+ %a (%d+)\n')
    if not lock.holder then
      return nil  -- what cannot be read is never taken for free
    end
  end
  return lock
end

local function packed(lock)
  return '1 ' .. lock.queued .. ' ' .. lock.c .. ' ' .. lock.ticket .. ' ' .. lock.free_since .. ' ' ..
    lock.dead .. ' ' .. lock.gone .. '\n' .. lock.hold
end

-- For how long a free lock is remembered, in ms: as the caller says, and while others wait for it at least as long as they may.
local function remembered(lock, asked)
  return lock.queued == '1' and math.max(tonumber(asked), waiter_lease / 1000) or asked
end

-- The last eight are kept: more requests of those who are gone are not under way at once.
local function with_tombstone(dead, owner)
  return string.sub(dead .. string.sub(owner, 1, 16), -128)
end

-- The number to give for this lock: one that is proposed if it is above all that was given before and not out of all bounds, else the
-- next. Where several servers vote, two who were given the same number by majorities share a server, and that one gives none twice.
-- A client whose clock is wrong cannot use the numbers up: nothing more than 10 s ahead is taken from a clock.
local function number_above(last, proposed, clock)
  if proposed > last and proposed <= highest and (not clock or proposed <= now + 10000000) then
    return proposed
  end
  return last + 1
end

local function buried(lock, owner)
  local id = string.sub(owner, 1, 16)
  return string.find(lock.dead, id, 1, true) or string.find(lock.gone, id, 1, true)
end
