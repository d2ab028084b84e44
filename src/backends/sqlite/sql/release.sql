-- Frees a lock, in one statement, and tells whether anybody waits for it. Nothing changed: this owner does not hold it.
-- ?1 name, ?2 owner, ?3 now
UPDATE lock SET
  owner = NULL,
  freed = tell(0, EXISTS (SELECT 1 FROM waiter WHERE waiter.name = ?1), ?3),
  dead = substr(CAST(?2 || dead AS BLOB), 1, 160)
WHERE name = ?1 AND owner = ?2
