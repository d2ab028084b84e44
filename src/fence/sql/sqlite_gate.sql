-- Gives the token when it was let pass, and else nothing: then nothing was changed either. What it gives holds until the
-- transaction ends, because nobody else can write meanwhile.
-- ?1 resource, ?2 token
INSERT INTO {table} AS f (resource, token, writes) VALUES (?1, ?2, 1)
ON CONFLICT (resource) DO UPDATE SET token = excluded.token, writes = f.writes + 1
WHERE f.token <= excluded.token
RETURNING token
