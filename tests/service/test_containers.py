"""The page on containers: what can be checked of its recipe without a container engine."""

import json
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

pytest.importorskip("msgspec", reason="needs the extra `serve`")
pytest.importorskip("uvicorn", reason="needs the extra `serve`")
pytest.importorskip("prometheus_client", reason="needs the extra `serve`")

from graphcb import Problem
from graphcb.cli import _parser
from graphcb.service.keys import Keys
from graphcb.service.routes import ROUTES
from graphcb.service.server import LAST_RESORT

REPOSITORY = Path(__file__).parents[2]
PAGE = (REPOSITORY / "docs" / "how-to" / "containers.md").read_text("utf-8")
PROJECT = tomllib.loads((REPOSITORY / "pyproject.toml").read_text("utf-8"))["project"]
FILES = dict(re.findall(r"^<!-- file: (\S+) -->\n```\w+\n(.*?)^```$", PAGE, re.S | re.M))
SHELL = "".join(re.findall(r"^```bash\n(.*?)^```$", PAGE, re.S | re.M)).replace("\\\n", " ")
INSTRUCTIONS = [
    tuple(line.split(" ", 1))
    for line in FILES["Containerfile"].splitlines()
    if line.strip() and not line.startswith("#")
]


def instruction(name):
    (rest,) = [rest for found, rest in INSTRUCTIONS if found == name]
    return rest


def parsed(words):
    """The options of a command of graphcb, which ends the test if it does not know them."""
    return _parser().parse_args(words)


def test_the_image_is_built_from_what_there_is():
    version = re.fullmatch(r"python:(3\.\d+)-slim", instruction("FROM"))[1]
    assert f"Programming Language :: Python :: {version}" in PROJECT["classifiers"]
    runs = [rest for found, rest in INSTRUCTIONS if found == "RUN"]
    extras = re.search(r'"graphcb\[(.*)\]"$', runs[0])[1]
    assert set(extras.split(",")) <= set(PROJECT["optional-dependencies"])
    assert "--constraint constraints.txt" in runs[0]
    parsed(shlex.split(runs[1])[1:])
    assert Problem.from_toml(FILES["problem.toml"]).feedback == "rewards"


def test_the_service_in_the_image_is_not_root_and_hears_signals():
    assert re.fullmatch(r"[1-9]\d*:[1-9]\d*", instruction("USER"))
    assert json.loads(instruction("ENTRYPOINT")) == ["graphcb"]  # a shell would keep signals
    assert instruction("STOPSIGNAL") == "SIGTERM"
    options = parsed(json.loads(instruction("CMD")))
    assert (options.host, options.port) == ("0.0.0.0", int(instruction("EXPOSE")))
    folders = f"{Path(options.log).parent} {options.keys.parent}"
    assert f"RUN mkdir {folders} && chown {instruction('USER')} {folders}" in FILES["Containerfile"]


def test_the_health_check_tells_a_service_from_none(serve):
    service = serve()
    port = service.address.rpartition(":")[2]
    _, _, command = instruction("HEALTHCHECK").partition(" CMD ")
    check = [one.replace("8000", port) for one in json.loads(command)]
    assert subprocess.run([sys.executable, *check[1:]]).returncode == 0
    service.stop()
    assert subprocess.run([sys.executable, *check[1:]], capture_output=True).returncode != 0


def test_commands_in_containers_are_those_of_graphcb():
    runs = re.findall(r"docker run (.*?) decide(?: (serve[^)\n]*)|$)", SHELL, re.M)
    assert len(runs) == 2
    for options, command in runs:
        for hardened in ("--read-only", "--user 10001:10001", "--cap-drop=ALL"):
            assert hardened in options
        assert "--security-opt=no-new-privileges" in options
        parsed(shlex.split(command) or json.loads(instruction("CMD")))
    assert "-p 127.0.0.1:8000:8000" in runs[1][0]
    (inside,) = re.findall(r"docker exec decide graphcb (.*)", SHELL)
    parsed(shlex.split(inside))


def test_the_compose_file_is_as_careful_as_the_command():
    yaml = pytest.importorskip("yaml", reason="needs PyYAML, in the extra `dev`")
    service = yaml.safe_load(FILES["compose.yaml"])["services"]["decide"]
    careful = {
        "user": "10001:10001", "read_only": True, "tmpfs": ["/tmp"], "cap_drop": ["ALL"],
        "security_opt": ["no-new-privileges"], "ports": ["127.0.0.1:8000:8000"],
        "volumes": ["decide-keys:/keys:ro"], "environment": {"PGPASSWORD": "${PASSWORD:?}"},
        "stop_grace_period": "30s", "build": {"context": ".", "dockerfile": "Containerfile"},
    }  # fmt: skip
    assert service | careful == service
    options, inside = parsed(service["command"]), parsed(json.loads(instruction("CMD")))
    assert options.log == "postgresql://graphcb@db/graphcb"
    assert vars(options) | {"log": inside.log} == vars(inside)


# The fields of Kubernetes' API (apps/v1, v1, policy/v1) that the recipe uses; "!" is required.
_PROBE = {
    "httpGet!": {"path!": str, "port!": int},
    "periodSeconds": int, "timeoutSeconds": int, "failureThreshold": int,
}  # fmt: skip
_META = {"name!": str, "labels": {"app!": str}}
_SELECTOR = {"matchLabels!": {"app!": str}}
_POD = {
    "terminationGracePeriodSeconds": int,
    "securityContext": {
        "runAsNonRoot": bool, "runAsUser": int, "runAsGroup": int, "fsGroup": int,
    },
    "containers!": [{
        "name!": str, "image!": str, "args": [str],
        "env": [{"name!": str, "valueFrom": {"secretKeyRef!": {"name!": str, "key!": str}}}],
        "ports": [{"containerPort!": int}],
        "livenessProbe": _PROBE, "readinessProbe": _PROBE,
        "resources": {
            "requests": {"cpu": str, "memory": str}, "limits": {"cpu": str, "memory": str},
        },
        "securityContext": {
            "allowPrivilegeEscalation": bool, "readOnlyRootFilesystem": bool,
            "capabilities": {"drop": [str]},
        },
        "volumeMounts": [{"name!": str, "mountPath!": str, "readOnly": bool}],
    }],
    "volumes": [{
        "name!": str, "emptyDir": {},
        "secret": {"secretName!": str, "items": [{"key!": str, "path!": str}], "defaultMode": int},
    }],
}  # fmt: skip
_SPECS = {
    ("apps/v1", "Deployment"): {
        "replicas": int, "selector!": _SELECTOR,
        "strategy": {
            "type!": str, "rollingUpdate": {"maxUnavailable": int, "maxSurge": int},
        },
        "template!": {"metadata!": {"labels!": {"app!": str}}, "spec!": _POD},
    },
    ("v1", "Service"): {
        "selector!": {"app!": str}, "ports!": [{"port!": int, "targetPort": int}],
    },
    ("policy/v1", "PodDisruptionBudget"): {"minAvailable": int, "selector!": _SELECTOR},
}  # fmt: skip


def wrong_in(value, shape, where):
    """What does not fit a shape: unknown or missing fields, and values of another type."""
    if isinstance(shape, type):
        return [] if type(value) is shape else [f"{where} must be {shape.__name__}"]
    if isinstance(shape, list):
        if not isinstance(value, list):
            return [f"{where} must be a list"]
        return [
            wrong
            for k, one in enumerate(value)
            for wrong in wrong_in(one, shape[0], f"{where}[{k}]")
        ]
    if not isinstance(value, dict):
        return [f"{where} must be a mapping"]
    fields = {name.rstrip("!"): one for name, one in shape.items()}
    missing = {name[:-1] for name in shape if name.endswith("!")} - set(value)
    wrong = [f"{where}.{name} is missing" for name in sorted(missing)]
    wrong += [f"{where}.{name} is unknown" for name in value if name not in fields]
    for name in set(value) & set(fields):
        wrong += wrong_in(value[name], fields[name], f"{where}.{name}")
    return wrong


def test_the_recipe_for_kubernetes_fits_its_schema_and_its_own_names():
    yaml = pytest.importorskip("yaml", reason="needs PyYAML, in the extra `dev`")
    found = list(yaml.safe_load_all(FILES["kubernetes.yaml"]))
    for one in found:
        spec = _SPECS[one["apiVersion"], one["kind"]]
        shape = {"apiVersion!": str, "kind!": str, "metadata!": _META, "spec!": spec}
        assert wrong_in(one, shape, one["kind"]) == []
    spoilt = yaml.safe_load(
        FILES["kubernetes.yaml"].partition("---")[0].replace("replicas", "replica")
    )
    assert wrong_in(spoilt["spec"], _SPECS["apps/v1", "Deployment"], "spec") == [
        "spec.replica is unknown"
    ]
    deployments = {
        one["metadata"]["name"]: one["spec"] for one in found if one["kind"] == "Deployment"
    }
    assert {name: spec["replicas"] for name, spec in deployments.items()} == {
        "decide": 2, "learn": 2,
    }  # fmt: skip
    paths = {route.path for route in ROUTES}
    for name, spec in deployments.items():
        assert spec["selector"]["matchLabels"] == spec["template"]["metadata"]["labels"]
        pod = spec["template"]["spec"]
        (container,) = pod["containers"]
        options = parsed(container["args"])
        assert (options.learn_only, options.decide_only) == (name == "learn", name == "decide")
        assert container["livenessProbe"]["httpGet"] == {"path": "/livez", "port": options.port}
        assert {"/livez", "/readyz"} <= paths
        assert container["ports"] == [{"containerPort": options.port}]
        # an orderly stop ends before the pod is killed
        assert pod["terminationGracePeriodSeconds"] > options.leave + LAST_RESORT
        volumes = {one["name"] for one in pod["volumes"]}
        assert {one["name"] for one in container["volumeMounts"]} == volumes
    ready = deployments["decide"]["template"]["spec"]["containers"][0]["readinessProbe"]
    assert ready["httpGet"]["path"] == "/readyz"
    budgets = [one["spec"] for one in found if one["kind"] == "PodDisruptionBudget"]
    assert {one["selector"]["matchLabels"]["app"] for one in budgets} == set(deployments)
    assert all(one["minAvailable"] == 1 for one in budgets)


@pytest.mark.skipif(shutil.which("curl") is None, reason="needs curl")
def test_the_curl_lines_work_as_printed(serve, tmp_path):
    keys = Keys(tmp_path / "keys.json")
    scopes = re.search(r"serve-keys add \S+ shop --scopes (\S+)\)", SHELL)[1].split(",")
    service = serve(Problem.from_toml(FILES["problem.toml"]), keys=keys)
    lines = [f"KEY={keys.add('shop', scopes)}"]
    lines += [line for line in SHELL.splitlines() if line.startswith(("curl", "ID="))]
    script = "\n".join(lines).replace("http://127.0.0.1:8000", service.address)
    script = script.replace("curl -s ", "curl -sS --fail-with-body ")
    done = subprocess.run(["bash", "-euo", "pipefail", "-c", script], capture_output=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert b'"counted":true' in done.stdout
    assert b'"feedback":{"review":-5.0}' in done.stdout
