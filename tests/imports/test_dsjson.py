import json

import pytest

from graphcb.imports.dsjson import read_dsjson
from graphcb.streams import BadRows


def event(**changes):
    plain = {
        "_label_cost": -1.0,
        "_label_probability": 0.8,
        "_label_Action": 2,
        "_labelIndex": 1,
        "o": [{"v": 1.0, "EventId": "e1"}],
        "Timestamp": "2021-02-04T16:31:29.2460000Z",
        "EventId": "e1",
        "a": [2, 1, 3],
        "p": [0.8, 0.15, 0.05],
        "c": {
            "User": [{"age": 31, "city": "Rome"}],
            "tags": ["a", "b"],
            "_synthetic": False,
            "_multi": [
                {"_tag": "latte", "j": [{"price": 3.5}]},
                {"i": {"constant": 1, "id": "mocha"}, "price": 4.0},
                {"price": 2.0},
            ],
        },
    }
    return {**plain, **changes}


def read(*events, skip=False):
    bad = BadRows("log.json", skip=skip)
    lines = [one if isinstance(one, str) else json.dumps(one) for one in events]
    return list(read_dsjson([f"{line}\n" for line in lines], bad)), bad


def test_an_event():
    (one,), _ = read(event())
    assert one.context == {"User": {"age": 31, "city": "Rome"}, "tags": ["a", "b"]}
    assert one.actions == {
        "latte": {"j": {"price": 3.5}},
        "mocha": {"i": {"constant": 1, "id": "mocha"}, "price": 4.0},
        "3": {"price": 2.0},
    }
    assert (one.chosen, one.cost, one.event_id, one.line) == (1, -1.0, "e1", 1)
    assert one.probabilities == pytest.approx([0.15, 0.8, 0.05])
    assert one.probability == pytest.approx(0.8)
    assert one.made_at == pytest.approx(1612456289.246)


def test_minus_zero_is_zero():
    (one,), _ = read(event(_label_cost=-0.0))
    assert str(one.cost) == "0.0"


def test_a_decision_that_was_not_acted_on_has_no_outcome():
    (one,), _ = read(event(_skipLearn=True))
    assert one.chosen == 1
    assert one.cost is None


def test_without_a_ranking_the_label_says_what_was_chosen():
    given = event()
    del given["a"], given["p"]
    (one,), _ = read(given)
    assert (one.chosen, one.probability, one.probabilities) == (1, 0.8, None)
    del given["_labelIndex"]
    (one,), _ = read(given)
    assert (one.chosen, one.probability) == (None, None)


def test_empty_lines_are_passed_over():
    found, bad = read(event(), "", event())
    assert [one.line for one in found] == [1, 3]
    assert bad.count == 0


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("{broken", "must be JSON: "),
        ("[1, 2]", "must be a JSON object, got list"),
        ('{"EventId": "e", "RewardValue": 1}', "must have actions in c._multi, got none"),
        (event(c={"_multi": []}), "at least one action"),
        (event(_outcomes=[]), "must have one slot"),
        (event(a=[2, 1]), "a must rank the actions 1 to 3"),
        (event(a=[2, 2, 3]), "a must rank the actions 1 to 3"),
        (event(p=[0.8, 0.8, 0.8]), "p must be probabilities that sum to 1, got a sum of 2.4"),
        (event(p=[0.0, 0.5, 0.5]), "the chosen action must be a probability above 0"),
        (event(p=[None, 0.5, 0.5]), "no event of the DSJSON form: TypeError"),
        (event(_label_cost="high"), "_label_cost must be a finite number, got 'high'"),
        (event(a=None, _labelIndex=9), "_labelIndex must be between 0 and 2, got 9"),
        (event(Timestamp="yesterday"), "no event of the DSJSON form: ValueError"),
        (event(c={"_multi": ["latte"]}), "no event of the DSJSON form: AttributeError"),
    ],
)
def test_odd_lines_are_named(line, text):
    with pytest.raises(ValueError, match=r"log\.json, line 2: ") as caught:
        read(event(), line)
    assert text in str(caught.value)
    found, bad = read(event(), line, event(), skip=True)
    assert (len(found), bad.count) == (2, 1)
