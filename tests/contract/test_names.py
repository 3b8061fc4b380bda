"""No two public classes of the package have the same name."""

import importlib
import inspect
import pkgutil
from collections import defaultdict

import graphcb


def modules():
    for found in pkgutil.walk_packages(graphcb.__path__, "graphcb."):
        if found.name.endswith("__main__"):
            continue
        try:
            yield importlib.import_module(found.name)
        except ModuleNotFoundError as missing:
            if (missing.name or "").startswith("graphcb"):
                raise  # else an extra that is not installed


def test_every_public_class_has_a_name_of_its_own():
    homes = defaultdict(set)
    for module in modules():
        for name, thing in vars(module).items():
            if inspect.isclass(thing) and thing.__module__ == module.__name__ and name[0] != "_":
                homes[thing.__name__].add(module.__name__)
    assert len(homes) > 80
    shared = {name: sorted(where) for name, where in homes.items() if len(where) > 1}
    assert shared == {}
