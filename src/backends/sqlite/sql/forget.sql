-- ?1 name
DELETE FROM lock WHERE name = ?1
