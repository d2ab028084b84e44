-- Moves the version of a hold on. A late renewal must not bring an old version back: a version never returns.
-- ?1 name, ?2 owner, ?3 seq, ?4 ttl, ?5 now
UPDATE lock SET seq = max(seq + 1, token + ?3), ttl = ?4, freed = ?5 WHERE name = ?1 AND owner = ?2
