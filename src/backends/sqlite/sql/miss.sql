-- One that cannot be woken; it keeps its ticket should it ask again. ?1 name, ?2 owner
UPDATE waiter SET missed = 1 WHERE name = ?1 AND owner = ?2
