-- Forgets a lock, if it is still idle. ?1 name, ?2 freed before, ?3 later than it can have been freed
DELETE FROM lock WHERE name = ?1 AND owner IS NULL AND (freed < ?2 OR freed > ?3)
  AND NOT EXISTS (SELECT 1 FROM waiter WHERE waiter.name = lock.name)
