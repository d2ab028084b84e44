-- Lets a token pass and remembers it, without a write.
--
-- KEYS[1] the mark
-- ARGV[1] the token
-- Returns OK, or the error STALE <token> <highest seen>, BADTOKEN, BADMARK

-- include admit
-- include raise
return {ok = 'OK'}
