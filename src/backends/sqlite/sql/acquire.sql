-- Takes a lock that is free and that nobody waits for, in one statement. Nothing changed: something is in
-- the way. tell(i, x, y) tells the program x as its i-th result and yields y; RETURNING would make a table for that.
-- seq begins with the token: one who is granted again must not come back in a version that somebody has seen silent.
-- ?1 name, ?2 owner, ?3 wall clock, ?4 ttl, ?5 host, ?6 pid, ?7 user, ?8 label, ?9 since, ?10 life, ?11 place, ?12 now
INSERT INTO lock (name, token, tickets, owner, seq, ttl, host, pid, user, label, since, life, place, freed, dead, gone)
SELECT ?1, tell(0, max(?3, floor + 1), max(?3, floor + 1)), tell(1, 1, 2), ?2, max(?3, floor + 1), ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, x'', x''
FROM store
WHERE max(?3, floor + 1) <= mark
  AND NOT EXISTS (SELECT 1 FROM waiter WHERE waiter.name = ?1)
ON CONFLICT (name) DO UPDATE SET
  token = tell(0, max(excluded.token, token + 1), max(excluded.token, token + 1)),
  tickets = tell(1, tickets, tickets + 1),
  owner = excluded.owner, seq = max(excluded.token, token + 1), ttl = excluded.ttl,
  host = excluded.host, pid = excluded.pid, user = excluded.user, label = excluded.label, since = excluded.since,
  life = excluded.life, place = excluded.place, freed = excluded.freed
WHERE owner IS NULL
  AND max(excluded.token, token + 1) <= (SELECT mark FROM store)
  AND instr(dead, excluded.owner) = 0
  AND instr(gone, excluded.owner) = 0
