-- Gives the token that stands in the row afterwards: ours, or the greater one that was in the way; then nothing was changed. The row
-- is locked in both cases. The order matters: each assignment sees what those before it have assigned, and writes needs the old token.
-- ? resource, ? token
INSERT INTO {table} (resource, token, writes) VALUES (?, ?, 1)
ON DUPLICATE KEY UPDATE writes = writes + (token <= VALUES(token)), token = GREATEST(token, VALUES(token))
RETURNING token
