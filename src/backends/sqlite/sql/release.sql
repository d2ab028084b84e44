-- Frees a lock, in one statement. No row: this owner does not hold it.
-- ?1 name, ?2 owner, ?3 now
UPDATE lock SET owner = NULL, freed = ?3, dead = substr(CAST(?2 || dead AS BLOB), 1, 160)
WHERE name = ?1 AND owner = ?2
RETURNING EXISTS (SELECT 1 FROM waiter WHERE waiter.name = lock.name)
