-- ?1 name, ?2 owner
DELETE FROM waiter WHERE name = ?1 AND owner = ?2
