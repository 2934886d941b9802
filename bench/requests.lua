-- The requests that wrk sends, chosen by its arguments: method, path, rest of the path with the query, body or its size,
-- count of names, number of the first name, then headers. With a count above 0, names are made by appending 000000, 000001,
-- … to the path, from the first on, wrapping round at the count; in any order, if the first is "any".
-- Ends with one line "RESULT requests seconds refused socket-errors".

local first, rest, count, same
local next
local any

function init(args)
  local method, path, query = args[1], args[2], args[3]
  local size = tonumber(args[4])
  local body = size and string.rep("x", size) or args[4]
  count = tonumber(args[5])
  any = args[6] == "any"
  next = any and 0 or tonumber(args[6])
  for i = 7, #args do
    local name, value = args[i]:match("^([^:]+): (.*)$")
    wrk.headers[name] = value
  end
  -- HEAD and GET go without a body, which wrk.format expresses as nil.
  local whole = wrk.format(method, path .. "@" .. query, nil, #body > 0 and body or nil)
  local mark = whole:find("@", 1, true)
  first, rest = whole:sub(1, mark - 1), whole:sub(mark + 1)
  if method == "PUT" and #body == 0 then
    rest = rest:gsub("\r\n\r\n$", "\r\nContent-Length: 0\r\n\r\n")
  end
  same = first .. rest
end

function request()
  if count == 0 then
    return same
  end
  local number = any and math.random(0, count - 1) or next % count
  next = next + 1
  local name = string.format("%06d", number)
  return first .. name .. rest
end

function done(summary)
  local errors = summary.errors
  io.write(string.format("RESULT %d %.6f %d %d\n", summary.requests, summary.duration / 1e6, errors.status,
    errors.connect + errors.read + errors.write + errors.timeout))
end
