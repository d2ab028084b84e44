  -- Nothing was written, so the mark is again what it was. SET has just been allowed; DEL may not be, and 0 is below every token.
  if raised then
    if mark then
      redis.call('SET', KEYS[1], mark)
    elseif type(redis.pcall('DEL', KEYS[1])) == 'table' then
      redis.call('SET', KEYS[1], '0')
    end
  end
