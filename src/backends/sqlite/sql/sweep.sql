-- The next few locks in the order of names, and whether nobody has used them for a while. A time far ahead is of an
-- earlier boot.
-- ?1 after which name, ?2 freed before, ?3 later than one can have been freed, ?4 how many to look at
SELECT name, token, owner IS NULL AND (freed < ?2 OR freed > ?3), owner, seq, life, place
FROM lock WHERE name > ?1 ORDER BY name LIMIT ?4
