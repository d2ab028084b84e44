-- Lets a token pass and remembers it, without a write.
--
-- KEYS[1] the mark
-- ARGV[1] the token
-- Returns OK, or the error STALE <token> <highest seen>, BADTOKEN, BADMARK

-- include admit
-- A token that was seen already is written again. Else nothing here would be a write, and a replica, or a master that has lost its
-- replicas, would let it pass.
raised = true
-- include raise
return {ok = 'OK'}
