-- After a restart of the machine the last tokens may be forgotten, the mark is not; and nobody waits any more.
-- ?1 boot
UPDATE store SET floor = max(floor, mark, raised), boot = ?1 WHERE boot <> ?1
