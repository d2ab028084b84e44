-- The mark is raised before the write, although the write may fail. Whatever keeps a server from writing at all (no memory left,
-- a replica, too few replicas, a disk that failed) strikes at the first write of a script and at no later one; it strikes here, where nothing has
-- been written. And what may be done to the mark is known before the data are touched: a mark can be put back, data cannot.
-- A token that the mark has already costs no write here. So a time to live that somebody gave the mark stays until a new token comes or one is
-- checked, and may end the mark before: nobody may give it one. (To read the mark by GETEX with PERSIST would take it away, but as the first
-- write of the script, after which a server without memory refuses nothing more.)
if raised then
  local done = redis.pcall('SET', KEYS[1], token)
  if done.err then
    return done
  end
end
