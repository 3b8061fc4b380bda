-- Requests for decisions with twenty features each, to the path in GRAPHCB_PATH.
math.randomseed(7)
local bodies = {}
for i = 1, 256 do
  local parts = {}
  for j = 0, 19 do parts[#parts + 1] = string.format('"f%d":%.6f', j, math.random()) end
  bodies[i] = '{"context":{' .. table.concat(parts, ",") .. "}}"
end

local path, n = os.getenv("GRAPHCB_PATH"), 0
request = function()
  n = n + 1
  return wrk.format("POST", path, {["Content-Type"] = "application/json"}, bodies[n % 256 + 1])
end
