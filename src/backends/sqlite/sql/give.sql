-- Gives a free lock to one whose turn it is; the caller has checked that, in the same transaction. Nothing changed: the
-- token would pass the mark. tell: see acquire.
-- ?1 name, ?2 owner, ?3 wall clock, ?4 ttl, ?5 host, ?6 pid, ?7 user, ?8 label, ?9 since, ?10 life, ?11 place, ?12 now
UPDATE lock SET
  token = tell(0, max(?3, token + 1, store.floor + 1), max(?3, token + 1, store.floor + 1)),
  tickets = tell(1, tickets, tickets + 1),
  owner = ?2, seq = max(?3, token + 1, store.floor + 1), ttl = ?4, host = ?5, pid = ?6, user = ?7, label = ?8, since = ?9, life = ?10, place = ?11, freed = ?12
FROM store
WHERE name = ?1 AND max(?3, token + 1, store.floor + 1) <= store.mark
