import pytest

from graphcb.evaluation.settling import Turnout


def turnout(answers):
    """From how many decisions of each action were made, and how many of them count."""
    found = Turnout()
    for name, (made, used) in answers.items():
        group = found.group_of(name)
        for n in range(made):
            found.made(group, is_silent=False)
            if n < used:
                found.used(group, is_silent=False)
    return found


@pytest.mark.parametrize(
    ("answers", "are_alike"),
    [
        ({}, True),
        ({"a": (500, 500), "b": (3, 3)}, True),
        ({"a": (500, 500), "b": (3, 2)}, True),  # one has to be missing somewhere
        ({"a": (500, 500), "b": (3, 0)}, False),
        ({"a": (500, 250), "b": (500, 240)}, True),
        ({"a": (500, 250), "b": (500, 150)}, False),
        ({"a": (500, 0), "b": (3, 3)}, False),
    ],
)
def test_answers_are_alike_unless_chance_would_not_have_it(answers, are_alike):
    assert turnout(answers).are_alike is are_alike
