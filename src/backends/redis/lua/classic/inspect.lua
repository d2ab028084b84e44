-- What stands at a lock's key.
--
-- KEYS[1]  the lock, KEYS[2] the hash of counters
-- ARGV[1]  the lock's bucket
-- Returns  {pttl, value, counter}; pttl is -2 where there is nothing, -1 where it does not expire

local value = redis.call('GETRANGE', KEYS[1], 0, 511)
return {redis.call('PTTL', KEYS[1]), value, redis.call('HGET', KEYS[2], ARGV[1])}
