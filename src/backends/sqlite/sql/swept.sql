-- ?1 up to which name, ?2 the highest token forgotten
UPDATE store SET swept = ?1, floor = max(floor, ?2)
