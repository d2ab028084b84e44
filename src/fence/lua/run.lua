-- Runs somebody's script, if the token is current. Before this stands, with the script in it so that its lines keep their numbers:
--   local body = (function(KEYS, ARGV, redis, server, _G, loadstring, load, getfenv, setfenv, ...) <script>
--   end)
-- The bracket is there so that an `end` too many is a mistake and not the end of the function. The names after `server` are nil in the script: by them it
-- could call commands of which nobody here would know.
--
-- KEYS[1] the mark, KEYS[2] and so on the script's keys
-- ARGV[1] the token, ARGV[2] and so on the script's arguments
-- Returns what the script returns, or the error STALE <token> <highest seen>, BADTOKEN, BADMARK, BADKEY, what Redis says, or of the script
--   UNDONE <its error>  before any of its commands had succeeded: nothing was written
--   PARTLY <its error>  later: some of it may have been written, and the mark stays raised

-- include admit
for i = 2, #KEYS do
  if KEYS[i] == KEYS[1] then
    return {err = 'BADKEY the mark of a resource is no place for data'}
  end
end
-- include raise
local keys, arguments = {}, {}
for i = 2, #KEYS do
  keys[i - 1] = KEYS[i]
end
for i = 2, #ARGV do
  arguments[i - 1] = ARGV[i]
end

-- Which commands write is known to the server alone: one that only reads counts too.
local begun = false
local watched = setmetatable({
  call = function(...)
    local answer = redis.call(...)
    begun = true
    return answer
  end,
  pcall = function(...)
    local answer = redis.pcall(...)
    begun = begun or type(answer) ~= 'table' or not answer.err
    return answer
  end,
}, {__index = redis})

-- Not pcall: that of Redis looks into an error that is a table, by its metatable, and so can raise another one here.
local fine, answer = xpcall(function()
  return body(keys, arguments, watched, watched)
end, function(raised_by_it)
  return raised_by_it
end)
local why = answer
if type(answer) == 'table' and rawget(answer, 'err') then
  fine, why = false, rawget(answer, 'err')
end
if fine and type(answer) == 'table' and rawget(answer, 'ok') == 'QUEUED' then
  return 'QUEUED'  -- as a status it says that the connection is in a MULTI
end
if fine then
  return answer
end
-- To make a text of an error may be the script's work too: it may fail, and even write. So it comes before the mark is put back.
local told, words = xpcall(function()
  return (string.gsub(tostring(why), '%c', ' '))
end, function() end)
if not told then
  words = 'it ended with an error that cannot be shown'
end
if not begun then
-- include put_back
end
return {err = (begun and 'PARTLY ' or 'UNDONE ') .. words}
