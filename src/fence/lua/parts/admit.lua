-- The rule: a token passes that is not below the highest seen. Both are decimal text and stay what they are; they are compared as
-- numbers, which are doubles here and exact below 2^53. Never tostring, which rounds to 14 digits.
-- Who is told STALE, BADTOKEN or BADMARK has written nothing.
local token, mark = ARGV[1], redis.pcall('GET', KEYS[1])
if not token or not string.find(token, '^[1-9]%d*$') or tonumber(token) >= 9007199254740992 then
  return {err = 'BADTOKEN a fence token is a number from 1 to 9007199254740991'}
end
local raised = mark ~= token  -- one holder writes many times: then the mark is what it should be, and valid as the token is
if raised and mark then
  if type(mark) == 'table' and not string.find(mark.err, 'WRONGTYPE', 1, true) then
    return mark  -- it may not be read
  end
  if type(mark) == 'table' or not string.find(mark, '^%d+$') or tonumber(mark) >= 9007199254740992 then
    return {err = 'BADMARK something that is no fence token stands at ' .. (string.gsub(KEYS[1], '%c', '?'))}
  end
  if tonumber(mark) > tonumber(token) then
    return {err = 'STALE ' .. token .. ' ' .. mark}
  end
  raised = tonumber(mark) < tonumber(token)
end
