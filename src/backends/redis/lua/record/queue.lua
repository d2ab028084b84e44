-- Those who wait. Stands where a script says `include queue`, behind what it can do without.

local claim_time = 500000        -- the head's time to take a free lock
local most_waiters = 100000
local most_skipped = 1000        -- in one call
local missed = 4503599627370496  -- 2^52, added to the ticket of one who let its time pass: behind all who did not

-- KEYS of a sorted set by ticket, and of a hash with '<ticket> <end of its lease> <channel> <mode>\n<who>'.
local function waiter_in(entry)
  local ticket, lease_end, channel = string.match(entry or '', '^(%d+) (%d+) (%S*) ')
  return tonumber(ticket), tonumber(lease_end), channel
end

-- An end further ahead than a lease is long was made before the clock was set back: that takes nobody's place. The dead are
-- passed over soon enough.
local function silent(lease_end)
  return not lease_end or lease_end <= now
end

-- Can somebody be told by this channel right now? When the server does not let us ask, everybody counts, and costs the others
-- its claim time.
local function listens(channel)
  local count = redis.pcall('PUBSUB', 'NUMSUB', (string.gsub(channel, '^%-', '')))
  return count.err or tonumber(count[2]) > 0
end

-- One that is about to listen says so by a '-', which is believed for a second.
local function counts(channel, lease_end)
  local age = now - (lease_end - waiter_lease)
  return string.sub(channel, 1, 1) == '-' and age >= 0 and age < 1000000 or listens(channel)
end

-- Says whether somebody hears it, or whether that cannot be told.
local function tell(message, channel)
  local heard = redis.pcall('PUBLISH', string.match(channel, '^%-?(.*)$'), message)
  return heard ~= 0
end

-- The first who waits and still counts, its channel, and whether it has just become the first. Those in front who have left are
-- dropped; who cannot be told any more is passed over, but keeps its ticket should it ask again. Who is asking right now counts in
-- any case, and needs no channel.
local function first_waiter(queue, waiters, asking)
  for i = 1, most_skipped do
    local head = redis.call('ZRANGE', queue, 0, 0, 'WITHSCORES')
    if not head[1] or tonumber(head[2]) >= missed then
      return nil
    end
    if head[1] == asking then
      return asking, nil, i > 1
    end
    local ticket, lease_end, channel = waiter_in(redis.call('HGET', waiters, head[1]))
    if silent(lease_end) then
      redis.call('ZREM', queue, head[1])
      redis.call('HDEL', waiters, head[1])
    elseif counts(channel, lease_end) then
      return head[1], channel, i > 1
    else
      redis.call('ZADD', queue, text(ticket + missed), head[1])
    end
  end
end

-- Tells the first behind the head who hears it, with a '+', that it is next.
local function tell_second(queue, waiters)
  local deaf = {}
  local from, to = 1, 1
  while from <= most_skipped do
    local owners = redis.call('ZRANGE', queue, from, to)
    local entries = owners[1] and redis.call('HMGET', waiters, unpack(owners)) or {}
    for i, entry in ipairs(entries) do
      local _, lease_end, channel = waiter_in(entry)
      if channel and not deaf[channel] and not silent(lease_end) then
        if tell('+' .. owners[i], channel) then
          return
        end
        deaf[channel] = true
      end
    end
    if not owners[1] then
      return
    end
    from, to = to + 1, most_skipped  -- the one right behind is it, nearly always; else all at once
  end
end

-- The lock is free: tells the first who can be told. And the one behind it that it is next: it sees to it that the first takes its
-- turn. Nobody else hears of it. A hint: that it fails must not turn what is done into an error. Says whether the
-- first has just become that.
local function wake_first(queue, waiters)
  local _, news = pcall(function()
    local head, channel, news = first_waiter(queue, waiters)
    if not head then
      return false
    end
    tell(head, channel)
    tell_second(queue, waiters)
    return news
  end)
  return news == true
end
