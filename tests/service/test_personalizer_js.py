"""Azure Personalizer's published JavaScript client, unmodified, against a running service."""

import json
import shutil
import subprocess

import pytest

pytest.importorskip("msgspec", reason="needs the extra `serve`")
pytest.importorskip("uvicorn", reason="needs the extra `serve`")
pytest.importorskip("prometheus_client", reason="needs the extra `serve`")

from graphcb import DecisionLog

from .conftest import ITEMS

pytestmark = pytest.mark.slow
PACKAGES = ("@azure/cognitiveservices-personalizer@2.0.1", "@azure/ms-rest-js@2.7.0")

PROGRAM = """
const { PersonalizerClient } = require("@azure/cognitiveservices-personalizer");
const { ApiKeyCredentials } = require("@azure/ms-rest-js");
const key = new ApiKeyCredentials({ inHeader: { "Ocp-Apim-Subscription-Key": "a key" } });
const client = new PersonalizerClient(key, process.argv[2]);
const asked = {
  contextFeatures: [{ timeOfDay: "morning" }],
  actions: [
    { id: "pasta", features: [{ taste: "salty" }] },
    { id: "cake", features: [{ taste: "sweet" }] },
  ],
};
const fails = async (work) => {
  try {
    await work;
  } catch (problem) {
    return [problem.statusCode, problem.body.error.code, problem.body.error.message];
  }
};
(async () => {
  const named = await client.rank({ ...asked, eventId: "first" });
  const again = await client.rank({ ...asked, eventId: "first" });
  await client.events.reward("first", { value: 0.75 });
  await client.events.activate("first");
  const unnamed = await client.rank({ ...asked, excludedActions: ["pasta"] });
  await client.events.reward(unnamed.eventId, { value: 1.0 });
  const wrong = await fails(client.rank({ actions: [] }));
  const unknown = await fails(client.events.reward("nobody", { value: 1.0 }));
  console.log(JSON.stringify({ named, again, unnamed, wrong, unknown }));
})();
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with the published packages, by npm, which may have them or fetch them."""
    npm = shutil.which("npm")
    if npm is None or shutil.which("node") is None:
        pytest.skip("needs node and npm")
    folder = tmp_path_factory.mktemp("node")
    (folder / "package.json").write_text("{}")
    command = [npm, "install", "--prefer-offline", "--no-audit", "--no-fund", *PACKAGES]
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, timeout=120, check=False)
    except subprocess.TimeoutExpired:
        pytest.skip("needs the npm packages " + ", ".join(PACKAGES))
    if done.returncode:
        pytest.skip("needs the npm packages " + ", ".join(PACKAGES))
    (folder / "program.js").write_text(PROGRAM)
    return folder


def test_the_javascript_client_ranks_rewards_and_hears_errors(serve, folder):
    service = serve(ITEMS)
    command = [shutil.which("node"), "program.js", service.address]
    done = subprocess.run(command, cwd=folder, capture_output=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr.decode()
    found = json.loads(done.stdout)
    assert found["named"]["eventId"] == "first"
    assert found["named"]["rewardActionId"] == found["named"]["ranking"][0]["id"]
    assert found["again"]["rewardActionId"] == found["named"]["rewardActionId"]
    assert found["unnamed"]["rewardActionId"] == "cake"
    assert found["wrong"][:2] == [400, "BadRequest"]
    assert "at least one that is not excluded" in found["wrong"][2]
    assert found["unknown"] == [
        404, "ResourceNotFound", "event 'nobody' is not known, or was removed",
    ]  # fmt: skip
    service.stop()
    with DecisionLog(service.service.desk.policy.location) as log:
        assert [row.feedback.losses.tolist() for row in log] == [[0.75], [1.0]]
