-- A new waiter at the end of the queue.
-- ?1 name, ?2 owner, ?3 lease_end, ?4 host, ?5 pid, ?6 user, ?7 label, ?8 since, ?9 life, ?10 place
INSERT INTO waiter (name, missed, ticket, owner, lease_end, host, pid, user, label, since, life, place)
SELECT ?1, 0, tickets, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10 FROM lock WHERE name = ?1
