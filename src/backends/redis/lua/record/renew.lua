-- Renews many holds: each gets the next version if it is still its owner's. One that is not touches no other.
--
-- In quarantine a hold that the server has forgotten is written down again: it was granted before, its holder counts the
-- renewal only within its own validity, and nothing is granted meanwhile. So a restart does not end every job. Of two that claim
-- one lock the higher token is the later one.
--
-- Where several servers vote, a quarantine renews nothing. Outside of one, a vote that is missing here is given again, if it is
-- nobody's: the server has joined again, or the request for it was lost. So a long lease outlives all servers' restarts, one after
-- the other. It is not given again to one that was removed or has left.
--
-- KEYS    after the marker: for each hold its lock, then for each the counter of its bucket
-- ARGV    for each hold: owner, seq, ttl in ms, token, mode; before the last: who they are, should it have been forgotten
-- Returns {answers, time}, answers one digit for each: 1 renewed, 0 not this owner's any more, 2 what stands there is no lock;
--         {'X', time, settings}, {'R', time}

-- include functions

local floor = admitted(redis.call('GET', KEYS[1]))
local no = (not floor or came_along) and doubt(floor)
if no and (no[1] ~= 'Q' or not alone) then
  return no
end

local count = (#KEYS - 1) / 2
local names = {}
for i = 1, count do
  names[i] = KEYS[1 + i]
end
local records = redis.call('MGET', unpack(names))
local writes, answers = {}, {}

local function put(key, value)
  writes[#writes + 1] = key
  writes[#writes + 1] = value
end

-- Two of a bucket may come back at once, and its counter must not fall.
local raised = {}
local function raise(key, token, stored)
  if token > (raised[key] or stored) then
    raised[key] = token
    put(key, text(token))
  end
end

-- Is there room for it, now that this server may have forgotten it?
local function may_return(lock, owner, token)
  if buried(lock, owner) or token > highest then
    return false
  end
  if alone then
    return no and token > tonumber(lock.c)
  end
  return not lock.holder and token > tonumber(lock.ticket)
end

-- A version never returns. What the server has forgotten may have been a higher one than what it knows or what the holder has
-- counted. Above all that was given before is only the clock, and what tokens may be ahead of it.
local function beyond_what_was_forgotten(seq)
  return math.max(seq, now + 20000000)
end

local returned = {}  -- by name: the batch may have two that claim one lock

local function renew(i)
  local owner, seq, ttl, token, mode = unpack(ARGV, 5 * i - 3, 5 * i + 1)
  local lock = returned[names[i]] or parse(records[i])
  if not lock or (not records[i] and not returned[names[i]] and redis.call('EXISTS', names[i]) == 1) then
    return 2
  end
  if lock.holder == owner then
    lock.free_since = now_text
    -- A late renewal must not bring an old version back either.
    local next = math.max(tonumber(lock.seq) + 1, tonumber(seq))
    if no then
      next = beyond_what_was_forgotten(next)
    end
    lock.hold = string.gsub(lock.hold, '^%x+ %d+ %d+', owner .. ' ' .. string.format('%.0f', next) .. ' ' .. ttl, 1)
    token = tonumber(token)
    if not alone and token > tonumber(lock.token) and token <= highest then  -- it was given here before all had agreed
      lock.hold = string.gsub(lock.hold, ' %d+\n', ' ' .. text(token) .. '\n', 1)
      lock.c = text(math.max(token, tonumber(lock.c)))
      local counter = redis.pcall('GET', KEYS[1 + count + i])
      if type(counter) == 'table' then
        return 2
      end
      raise(KEYS[1 + count + i], token, tonumber(counter or '0') or 0)
    end
    put(names[i], packed(lock))
    return 1
  end
  token = tonumber(token)
  if not may_return(lock, owner, token) then
    return 0
  end
  local counter = redis.pcall('GET', KEYS[1 + count + i])
  if type(counter) == 'table' then
    return 2
  end
  lock.c = text(math.max(token, tonumber(lock.c), tonumber(counter or '0') or 0, floor or 0))  -- it never falls
  lock.seq = string.format('%.0f', beyond_what_was_forgotten(tonumber(seq) + 1000000))
  lock.hold = owner .. ' ' .. lock.seq .. ' ' .. ttl .. ' ' .. mode .. ' ' .. text(token) .. '\n' .. ARGV[#ARGV - 1]
  lock.holder, lock.token, lock.free_since = owner, text(token), now_text
  returned[names[i]] = lock
  put(names[i], packed(lock))
  raise(KEYS[1 + count + i], token, tonumber(counter or '0') or 0)
  return 1
end

for i = 1, count do
  answers[i] = renew(i)
end
if #writes > 0 then
  redis.call('MSET', unpack(writes))
end
return {table.concat(answers), now_text}
