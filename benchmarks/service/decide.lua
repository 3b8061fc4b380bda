-- Requests for decisions, the lines of the file GRAPHCB_BODIES, to the path in GRAPHCB_PATH.
local bodies = {}
for line in io.lines(os.getenv("GRAPHCB_BODIES")) do bodies[#bodies + 1] = line end

local path, n = os.getenv("GRAPHCB_PATH"), 0
request = function()
  n = n % #bodies + 1
  return wrk.format("POST", path, {["Content-Type"] = "application/json"}, bodies[n])
end
