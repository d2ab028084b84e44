-- ?1 what was raised, and synced
UPDATE store SET mark = max(mark, ?1)
