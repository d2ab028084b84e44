-- Removes one hold if its version is still this one. The token moves on, so that the victim's is past.
-- ?1 name, ?2 owner, ?3 now, ?4 seq
UPDATE lock SET owner = NULL, freed = ?3, token = token + 1, dead = substr(CAST(?2 || dead AS BLOB), 1, 160)
WHERE name = ?1 AND owner = ?2 AND seq = ?4
