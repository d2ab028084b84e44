-- The next few locks in the order of names, and whether nobody has used them for a while. A time in the future is of
-- an earlier boot.
-- ?1 freed before, ?2 now, ?3 how many to look at
SELECT name, token,
       owner IS NULL AND (freed < ?1 OR freed > ?2)
         AND NOT EXISTS (SELECT 1 FROM waiter WHERE waiter.name = lock.name)
FROM lock WHERE name > (SELECT swept FROM store) ORDER BY name LIMIT ?3
