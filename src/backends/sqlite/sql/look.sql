-- One lock. ?1 name
SELECT token, tickets, owner, seq, ttl, host, pid, user, label, since, life, place, freed,
       instr(dead, ?2) + instr(gone, ?2)
FROM lock WHERE name = ?1
