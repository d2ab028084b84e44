-- Waiters that have not asked for long have left. An end further ahead than one can be comes from another boot or
-- another time namespace, and counts as over.
-- ?1 name, ?2 now, ?3 the latest end that can be
DELETE FROM waiter WHERE name = ?1 AND (lease_end <= ?2 OR lease_end > ?3)
