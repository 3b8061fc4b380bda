"""What a log of a problem without `explore` does not show."""

import pytest

from graphcb import Problem
from graphcb.problems.wording import lost_without_explore

REVIEW = {"all": ["review"]}


@pytest.mark.parametrize(
    ("actions", "given"),
    [
        (["a", "b"], {}),
        (["approve", "review"], {"reveals": REVIEW}),
        (["approve", "review"], {"reveals": REVIEW, "limits": {"floors": {"approve": 0.1}}}),
        (["approve", "review"], {"baseline": "approve"}),
        (["approve", "review"], {"reveals": REVIEW, "known": {"review": 0.2}}),
        ("each round", {}),
        (["a", "b"], {"reveals": "each round"}),
        (["a", "b"], {"reveals": "unknown"}),
    ],
)
def test_what_is_lost(actions, given):
    assert "write explore = 0.01 under [problem]" in lost_without_explore(Problem(actions, **given))


@pytest.mark.parametrize(
    "given",
    [
        {"explore": 0.01},
        {"reveals": "full-information"},
        {"reveals": REVIEW, "limits": {"floors": {"review": 0.1}}},
        {"limits": {"floors": 0.01}},
        {"known": {"approve": 0.5, "review": 0.2}},
        {"baseline": {"action": "approve", "mode": "shadow"}},
    ],
)
def test_nothing_is_lost(given):
    assert lost_without_explore(Problem(["approve", "review"], **given)) is None
