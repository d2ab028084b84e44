-- Promises the numbers up to a new mark; they count when the mark is set, see set_mark. Nothing changed: it is high
-- enough. Never lower than what another promised, who may be about to set it. tell: see acquire.
-- ?1 the token that is wanted, ?2 how far beyond it
UPDATE store SET raised = tell(0, max(raised, ?1 + ?2, floor + 1 + ?2), max(raised, ?1 + ?2, floor + 1 + ?2))
WHERE mark < max(?1, floor + 1)
