-- How many of those who count are before this ticket. ?1 name, ?2 ticket
SELECT count(*) FROM waiter WHERE name = ?1 AND missed = 0 AND ticket < ?2
