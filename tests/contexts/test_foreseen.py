import copy
import pickle

import numpy as np
import pytest

from graphcb import Encoder
from graphcb.contexts.foreseen import Foreseen


def test_an_answer_is_for_the_object_that_asks_and_no_other():
    foreseen, questions = Foreseen(), [{"a": 1.0}, {"a": 1.0}]
    foreseen.keep(questions, ["first", "second"])
    answers = [foreseen.get(id(one)) for one in questions]
    assert [answer[1] for answer in answers] == ["first", "second"]
    assert answers[0][0] is questions[0]  # which keeps it alive
    assert foreseen.get(id({"a": 1.0})) is None
    foreseen.keep(questions[1:], ["third"])
    assert list(foreseen.values()) == [(questions[1], "third")]
    with pytest.raises(ValueError, match="shorter"):
        foreseen.keep(questions, ["alone"])


@pytest.mark.parametrize(
    "twin_of", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))]
)
def test_copies_hold_nothing(twin_of):
    foreseen, question = Foreseen(), {"a": 1.0}
    foreseen.keep([question], ["answer"])
    twin = twin_of(foreseen)
    assert type(twin) is Foreseen
    assert not twin
    assert foreseen.get(id(question)) == (question, "answer")


def rows(n, words=False, whole=False):
    rng = np.random.default_rng(1)
    for _ in range(n):
        row = {"x": 3 if whole else rng.normal(), "y": rng.lognormal()}
        yield {**row, "color": str(rng.choice(["red", "blue"]))} if words else row


NUMBERS = {"x": "number", "y": "number"}


@pytest.mark.parametrize(
    ("features", "words", "whole"),
    [
        (NUMBERS, False, False),
        (NUMBERS, False, True),
        ({**NUMBERS, "color": "category"}, True, False),
        (None, False, False),
        (None, False, True),
        (None, True, False),
    ],
)
def test_rows_that_are_foreseen_are_the_same_until_something_is_counted(features, words, whole):
    encoder, contexts = Encoder(features), [*rows(30, words, whole)]
    for context in contexts:
        encoder.learn(context)
    before = [encoder.encode(context) for context in contexts]
    foreseen = encoder.foresee(contexts)
    for context, expected, row in zip(contexts, before, foreseen, strict=True):
        assert encoder.encode(context) is row
        assert [np.asarray(part).tolist() for part in row] == [
            np.asarray(part).tolist() for part in expected
        ]
    after = encoder.after(contexts[0])
    assert after.encode(contexts[1]).values.tolist() != foreseen[1].values.tolist()
    assert encoder.encode(contexts[1]) is foreseen[1]
    encoder.learn({"x": 100.0, "y": 0.1, **({"color": "red"} if words else {})})
    assert encoder.encode(contexts[1]).values.tolist() != foreseen[1].values.tolist()


@pytest.mark.parametrize("odd", [{"y": 1.0, "x": 1.0}, {"x": 1.0, "y": True}, {"x": 1.0}])
def test_contexts_that_are_not_all_alike_are_encoded_as_always(odd):
    encoder, contexts = Encoder({"x": "number?", "y": "number?"}), [*rows(5)]
    for context in contexts:
        encoder.learn(context)
    expected = [encoder.encode(context).values.tolist() for context in [*contexts, odd]]
    found = encoder.foresee([*contexts, odd])
    assert [row.values.tolist() for row in found] == expected


def test_columns_that_are_counted_forget_what_was_foreseen():
    encoder, contexts = Encoder(NUMBERS), [*rows(5)]
    encoder.encode_columns(np.array([[1.0, 2.0], [3.0, 5.0]]), [])
    foreseen = encoder.foresee(contexts)
    encoder.encode_columns(np.array([[7.0, 2.0], [9.0, 5.0]]), [])
    assert encoder.encode(contexts[0]).values.tolist() != foreseen[0].values.tolist()
