-- Gives the token when it was let pass, and else nothing: then nothing was changed either, but the row is locked all the same, so
-- that the question which token was in the way has one answer. Others wait for the row until the transaction ends.
-- $1 resource, $2 token
INSERT INTO {table} AS f (resource, token, writes) VALUES ($1, $2, 1)
ON CONFLICT (resource) DO UPDATE SET token = excluded.token, writes = f.writes + 1
WHERE f.token <= excluded.token
RETURNING token
