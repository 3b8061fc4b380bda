"""A decision goes through few files, each with one idea; a new layer is noticed."""

import pytest
from hops import CASES, visits_of_a_decision


@pytest.mark.parametrize(
    ("name", "files", "hops"),
    [("README's problem", 30, 90), ("with limits and a budget", 38, 121)],
)
def test_a_decision_goes_through_so_many_files(name, files, hops):
    found = visits_of_a_decision(CASES[name])
    assert len(found) <= files, sorted(found)
    assert found.total() <= hops, found
