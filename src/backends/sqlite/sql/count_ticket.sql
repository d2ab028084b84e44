-- ?1 name
UPDATE lock SET tickets = tickets + 1 WHERE name = ?1
