import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("msgspec", reason="needs the extra `serve`")
pytest.importorskip("uvicorn", reason="needs the extra `serve`")
pytest.importorskip("prometheus_client", reason="needs the extra `serve`")

import msgspec

from graphcb.decisions import DecisionLog, Policy, verify
from graphcb.decisions.encoding import Encoded, decode
from graphcb.problems import Problem
from graphcb.service.admission import RequestLimits
from graphcb.service.answers import MANY, of_decision, of_logged
from graphcb.service.requests import DecisionRequest, as_context, as_round

LIMITS = RequestLimits()
PLAIN = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()


def same(one, other):
    """Equal, of the same types, to the last bit, and in the same order."""
    return repr(one) == repr(other)


@given(st.dictionaries(st.text(), PLAIN), st.sampled_from([None, 1, "\t"]), st.booleans())
def test_what_is_logged_reads_back_as_what_was_decided_on(context, indent, ascii_only):
    text = json.dumps(context, indent=indent, ensure_ascii=ascii_only)
    try:
        content = text.encode()
        read = as_context(content, LIMITS)
    except (msgspec.DecodeError, UnicodeEncodeError):
        return  # infinity, or half a surrogate pair
    assert isinstance(read, Encoded)
    assert same(decode(read.content), read.value)


@pytest.mark.parametrize(
    "text",
    [
        '{"a": 1e5, "b": -0, "c": -0.0, "d": 1E-320, "e": 0.1e1}',
        '{"a": 123456789012345678901234567890, "b": 9223372036854775808, "c": -1e999999}',
        '{"a": 18446744073709551616.0, "a": 2, "b": 1, "a": 3}',
        '{"\\u00e9": "\\ud83d\\ude00", "x": "\\u0000"}',
        '{"a": 2.2250738585072011e-308, "b": 1.7976931348623159e308, "c": 9007199254740993}',
    ],
)
def test_odd_numbers_and_names_read_back_the_same(text):
    try:
        read = as_context(text.encode(), LIMITS)
    except msgspec.DecodeError:
        return
    if isinstance(read, Encoded):
        assert same(decode(read.content), read.value)


def test_what_has_to_be_flattened_is_not_logged_as_it_came():
    assert as_context(b'{"user": {"age": 3}}', LIMITS) == {"user": {"age": 3}}
    assert as_context(b"[1.0, 2.5]", LIMITS) == [1.0, 2.5]
    assert as_context(b'"a text"', LIMITS) == "a text"
    assert as_context(b"null", LIMITS) is None


@given(st.dictionaries(st.text(), st.dictionaries(st.text(), PLAIN), min_size=1))
def test_actions_are_logged_with_the_bytes_of_what_was_decided_on(actions):
    try:
        read = msgspec.json.decode(json.dumps({"actions": actions}), type=DecisionRequest)
    except (msgspec.DecodeError, UnicodeEncodeError):
        return  # infinity, or half a surrogate pair
    made = as_round(read, Problem("each round"), LIMITS)
    assert made.n_own == len(actions)
    if isinstance(made.actions, Encoded):
        assert same(decode(made.actions.content), made.actions.value)
    else:  # a whole number beyond 64 bits
        assert same(made.actions, read.actions)


@pytest.mark.parametrize("actions", [["a", "b"], {"a": None}, {"a": {"b": {"c": 1}}}, None])
def test_actions_that_are_not_plain_are_logged_by_the_policy(actions):
    problem = Problem(["a", "b"]) if actions is None else Problem("each round")
    read = DecisionRequest(actions=actions)
    assert as_round(read, problem, LIMITS).actions is actions


def test_encoded_actions_are_decided_on_as_they_came(tmp_path):
    actions = {"b": {"price": 1.5, "new": True}, "a": {"price": 2, "name": "\u00e9"}}
    problem, made = Problem("each round"), []
    for name in ("plain", "encoded"):
        with Policy(tmp_path / name, problem=problem, seed=3) as policy:
            one = as_round(DecisionRequest(actions=actions), problem, LIMITS)
            given = one.actions if name == "encoded" else actions
            for _ in range(5):
                decision = policy.decide(None, None, given)
                policy.feedback(decision.decision_id, {decision.action: 0.5})
                made.append((decision.action, decision.actions, decision.probabilities))
        assert verify(tmp_path / name) == []
        with DecisionLog(tmp_path / name) as log:
            assert [row.actions for row in log] == [actions] * 5
    assert made[:5] == made[5:]


@pytest.mark.parametrize(
    ("n", "n_played"), [(10, 1), (10, 7), (10, 10), (2 * MANY, 3), (2 * MANY, 150)]
)
def test_probabilities_of_0_are_left_out(tmp_path, n, n_played):
    names = [f'{k} "\u00e9"' for k in range(n)]
    problem = Problem(names, limits={"floors": dict.fromkeys(names[:n_played], 0.9 / n_played)})
    with Policy(tmp_path / "log.db", problem=problem, seed=1) as policy, policy.together() as made:
        one = made.make({"x": 1.0})
        found = [msgspec.to_builtins(of_decision(one))]
    with Policy(tmp_path / "log.db", problem=problem, seed=1) as policy, policy.together() as made:
        found.append(msgspec.to_builtins(of_logged(made.find(one.decision_id), made)))
    each = zip(names, one.probabilities.tolist(), strict=True)
    expected = {name: probability for name, probability in each if probability > 0.0}
    assert len(expected) == n_played
    for answer in found:
        assert list(answer["probabilities"].items()) == list(expected.items())
        assert answer["probability"] == expected[answer["action"]]
