-- Remembers one who left without having held the lock, apart from those who had: they never push each other out.
-- ?1 name, ?2 owner, ?3 now
INSERT INTO lock (name, token, tickets, owner, seq, ttl, host, pid, user, label, since, life, place, freed, dead, gone)
VALUES (?1, 0, 1, NULL, 0, 0, '', 0, '', '', 0, 0, x'', ?3, x'', ?2)
ON CONFLICT (name) DO UPDATE SET gone = substr(CAST(?2 || gone AS BLOB), 1, 160)
WHERE instr(dead, ?2) = 0 AND instr(gone, ?2) = 0
