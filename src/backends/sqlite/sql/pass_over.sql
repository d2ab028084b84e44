-- Those who had their time. ?1 name, ?2 ticket of the one who is served
UPDATE waiter SET missed = 1 WHERE name = ?1 AND missed = 0 AND ticket < ?2
