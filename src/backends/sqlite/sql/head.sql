-- The next in the queue. ?1 name
SELECT owner, life, place FROM waiter WHERE name = ?1 AND missed = 0 ORDER BY ticket LIMIT 1
