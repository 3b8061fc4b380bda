"""Examples in docstrings that need an extra are run where it is installed."""

import os
from importlib.util import find_spec

os.environ["GRAPHCB_QUIET"] = "1"  # whether kernels have to be compiled is nothing tests print

ADAPTERS = {"scikit_learn": "sklearn", "vowpal_wabbit": "vowpalwabbit", "pytorch": "torch"}
collect_ignore = [
    f"src/graphcb/oracles/adapters/{module}.py"
    for module, package in ADAPTERS.items()
    if find_spec(package) is None
]
if find_spec("coba") is None:
    collect_ignore.append("src/graphcb/integrations/coba.py")
if find_spec("msgspec") is None or find_spec("uvicorn") is None:
    collect_ignore.append("src/graphcb/service")
