-- ?1 name, ?2 owner
SELECT ticket, missed FROM waiter WHERE name = ?1 AND owner = ?2
