-- Those who wait for a lock, in the order of their tickets. ?1 name
SELECT owner, ticket, host, pid, user, label, since, life, place, lease_end FROM waiter WHERE name = ?1 ORDER BY ticket
