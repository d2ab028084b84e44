-- The beginning of every script of the layout `record`. Before it stands one line of the client's making:
--   local life, db = '<run id>.<replication id>.<swaps>/<number>', '<number>'
-- the life of the server that this text is for, and the database in it. A server keeps no texts when it ends, so that a text of an
-- earlier life is not known to it (NOSCRIPT): who asks then reads both ids again and makes a new text. It costs nothing per call.
-- The replication id is that of the server which this one followed before it was promoted, zeros if it never was: who follows
-- another has only what that one knew. The swaps are the calls of SWAPDB so far: there and back, and what was done meanwhile is
-- gone.
--
-- KEYS[1]  the marker: 'A <life> <settings> <floor>' when this server may give out locks, 'Q <life> <settings> <since> <why>
--          <floor>' when it may not: it has restarted, was emptied, swapped or promoted, and may have forgotten who holds what.
-- ARGV[1]  the settings that all who use this prefix must share. They begin with 'n1,' where this server is the only one, with
--          'n5,' where it is one of five that vote: then it gives out no lock, but its vote for one, and keeps no queue.
-- ARGV[n]  the last one: '+' when the text came along (EVAL), '-' when the server knew it
--
-- Times are the server's, in microseconds. Only the order of those who wait rests on them, and the height of tokens;
-- never who holds a lock. Every answer carries the time, so that the client notices when the clock was set.
--
-- A lock is one string: '1 <queued> <c> <ticket> <free since> <dead> <gone>\n<hold>'
--   queued    1 when others may be waiting, else 0      c        no token at or below it will be given
--   ticket    the last one given; where several servers vote, the highest token of a holder that was removed
--                                                       dead, gone   16 digits each of the last holders and contenders that
--                                                       are gone for good: a late request of theirs is turned away
--   free since   while the lock is held: when the hold was granted or last renewed. A hint for
--                clients, nothing rests on it
--   hold      '' or '<owner> <seq> <ttl> <mode> <token>\n<who>'. The pair of owner and seq never
--             repeats, not even if an owner's lost request is granted again when its tombstone is
--             long gone: seq begins with the token, plus some microseconds of the clock unless the
--             token is a clock reading
-- Numbers have 16 digits, so that each stands at a place of its own: string.match and string.format are what a script spends
-- most of its time with.
-- It is read whole and written whole, the counter of its bucket with it. A held one never expires; a free one does, when no
-- request of the dead can be under way any more.

local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local now_text = time[1] .. time[2]
if #now_text ~= 16 then
  now_text = string.sub('000000000' .. time[1], -10) .. string.sub('00000' .. time[2], -6)
end

local highest = 9007194959773696  -- 2^53 - 2^32: beyond 2^53 one more would be the same number again

local came_along = ARGV[#ARGV] == '+'
local alone = string.sub(ARGV[1], 1, 3) == 'n1,'

-- Says of the usual record, with nobody waiting and each number in its place, where its `dead` ends. Nil: it is another one, or
-- none of ours, and parse() has to tell.
local function plain(record)
  local ticket, free_since, dead = string.match(record, '^1 0 %d+ ()%d+ ()%d+ ()')
  return ticket == 22 and free_since == 39 and dead == 56 and string.find(record, ' ', dead, true)
end
