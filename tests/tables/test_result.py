"""What is found, in words and for JSON."""

import json

import pytest

from graphcb import evaluate_table
from tests.tables.shop import shop

FOUND = evaluate_table(
    shop(1000), action="item", probability="p", reward="click", policy=["new", "uniform"]
)


def test_it_prints_as_a_table():
    head, first, second, *notes = str(FOUND).splitlines()
    assert head.split("  ")[0] == "policy"
    assert first.startswith("new      self-normalised  ")
    assert second.startswith("uniform")
    assert notes[0] == "1,000 rows; rewards between 0 and 1"
    assert "<td>uniform</td>" in FOUND._repr_html_()


def test_json_takes_all_of_it():
    plain = json.loads(json.dumps(FOUND.to_dict()))
    assert [one["policy"] for one in plain["policies"]] == ["new", "uniform"]
    assert plain["policies"][1]["difference"]["value"] == FOUND["uniform"].difference.value


def test_policies_by_name():
    assert FOUND["uniform"] is FOUND.policies[1]
    with pytest.raises(KeyError, match="'old' was not judged; there are new, uniform"):
        FOUND["old"]
