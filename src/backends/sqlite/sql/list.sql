-- All locks that are held or waited for.
SELECT name FROM lock WHERE owner IS NOT NULL UNION SELECT name FROM waiter ORDER BY name
