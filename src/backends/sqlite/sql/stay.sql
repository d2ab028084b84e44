-- The old place with a fresh lease. ?1 name, ?2 owner, ?3 lease_end
UPDATE waiter SET lease_end = ?3, missed = 0 WHERE name = ?1 AND owner = ?2
