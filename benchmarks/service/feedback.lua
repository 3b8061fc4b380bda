-- Feedback for the decisions in the file GRAPHCB_DECISIONS, each once: lines "id action".
-- GRAPHCB_PATH has %s where the id goes.
local path, targets, bodies = os.getenv("GRAPHCB_PATH"), {}, {}
for line in io.lines(os.getenv("GRAPHCB_DECISIONS")) do
  local id, action = line:match("(%S+) (%S+)")
  targets[#targets + 1] = string.format(path, id)
  bodies[#bodies + 1] = string.format('{"losses":{"%s":%.4f}}', action, #bodies % 97 / 97)
end

local n = 0
request = function()
  n = n % #targets + 1
  return wrk.format("POST", targets[n], {["Content-Type"] = "application/json"}, bodies[n])
end
