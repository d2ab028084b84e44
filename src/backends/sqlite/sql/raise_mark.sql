-- ?1 the token that is wanted, ?2 how far beyond it
UPDATE store SET mark = max(?1, floor + 1) + ?2 WHERE mark < max(?1, floor + 1)
