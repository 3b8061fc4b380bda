"""Estimates of a table against the formulas, by hand."""

import numpy as np
import pyarrow as pa
import pytest

import graphcb
from graphcb import evaluate_table
from tests.tables.shop import NAMES, mean_click, shop, truth_of_new

ASKED = {"action": "item", "probability": "p", "reward": "click"}


def by_hand(table, chosen):
    """Inverse propensity weighting and its self-normalised form."""
    weights = chosen / table["p"].to_numpy()
    terms = weights * table["click"].to_numpy()
    return terms.mean(), terms.sum() / weights.sum()


@pytest.fixture(scope="module")
def table():
    return shop(5000)


def chosen_by(table, policy):
    item = table["item"].to_numpy(zero_copy_only=False)
    if policy == "new":
        return (table["new"].to_numpy(zero_copy_only=False) == item).astype(float)
    if policy == "uniform":
        return np.full(item.size, 0.25)
    if policy == "p_*":
        return table["p"].to_numpy()
    return (item == policy.removeprefix("constant:")).astype(float)


@pytest.mark.parametrize("policy", ["new", "uniform", "constant:b", "p_*"])
def test_estimates_are_those_by_hand(table, policy):
    found = evaluate_table(table, policy=policy, **ASKED)[policy]
    ips, normalised = by_hand(table, chosen_by(table, policy))
    assert found.estimates["ips"].value == pytest.approx(ips, rel=1e-13)
    assert found.estimates["self-normalised"].value == pytest.approx(normalised, rel=1e-13)


def test_logged_is_the_plain_mean(table):
    found = evaluate_table(table, policy="logged", **ASKED).estimate
    assert found.value == pytest.approx(table["click"].to_numpy().mean(), rel=1e-13)


@pytest.mark.parametrize("probability", ["p", "p_*", "shares"])
def test_probabilities_in_any_form_give_the_same_value(table, probability):
    asked = {**ASKED, "probability": probability}
    found = evaluate_table(table, policy="new", actions=NAMES, **asked)["new"]
    plain = evaluate_table(table, policy="new", **ASKED)["new"]
    for name in ("ips", "self-normalised"):
        assert found.estimates[name].value == plain.estimates[name].value


@pytest.mark.parametrize(
    "policy",
    [
        lambda row: "d" if row["x"] > 0.0 else "c",
        lambda row: {"d": 1.0} if row["x"] > 0.0 else {"c": 1.0, "d": 0.0},
        lambda row: [0.0, 0.0, float(row["x"] <= 0.0), float(row["x"] > 0.0)],
        lambda row: np.array([0.0, 0.0, float(row["x"] <= 0.0), float(row["x"] > 0.0)]),
    ],
)
def test_functions_of_a_row(table, policy):
    asked = {**ASKED, "actions": NAMES}
    found = evaluate_table(table, policy=policy, **asked).policies[0]
    assert found.estimates == evaluate_table(table, policy="new", **asked)["new"].estimates


def test_differences_are_paired_and_against_the_first(table):
    found = evaluate_table(table, policy=["constant:b", "new"], **ASKED)
    assert found["constant:b"].difference is None
    one, two = (found[name].estimates["self-normalised"].value for name in ("new", "constant:b"))
    assert found["new"].difference.value == pytest.approx(one - two, rel=1e-12)
    assert found["new"].difference.normal.lower > 0.0


def test_slots_add_up_to_all(table):
    found = evaluate_table(table, policy="new", slot="slot", **ASKED)
    assert list(found.slots) == ["1", "2", "3"]
    assert found.policies == evaluate_table(table, policy="new", **ASKED).policies
    mine = table.filter(pa.compute.equal(table["slot"], 2))
    assert found.slots["2"] == evaluate_table(mine, policy="new", **ASKED).policies


def test_doubly_robust_is_near_the_truth_and_sharper():
    table = shop(20_000)
    found = evaluate_table(table, policy="new", features=["x", "country"], **ASKED)["new"]
    robust, plain = found.estimates["doubly robust"], found.estimates["ips"]
    assert abs(robust.value - truth_of_new()) < 3.0 * robust.standard_error
    assert robust.standard_error < 0.8 * plain.standard_error


def test_missing_rewards_are_made_up_for_by_action(table):
    """Rewards of d come in half of its rows: without the correction, d would count half."""
    lost = (table["item"].to_numpy(zero_copy_only=False) == "d") & (np.arange(5000) % 2 == 0)
    click = pa.array(table["click"].to_numpy(), mask=lost)
    holes = table.set_column(table.column_names.index("click"), "click", click)
    found = evaluate_table(holes, policy="uniform", **ASKED)
    weights = np.where(lost, 0.0, 0.25 / table["p"].to_numpy())
    of_d = table["item"].to_numpy(zero_copy_only=False) == "d"
    weights[of_d] /= 1.0 - lost[of_d].mean()
    expected = (weights * table["click"].to_numpy()).sum() / weights.sum()
    assert found["uniform"].estimates["self-normalised"].value == pytest.approx(expected)
    assert found.n_missing == lost.sum()
    assert "whether one is missing depends on the action alone" in " ".join(found.rests_on)
    assert found["uniform"].estimate.anytime is None  # its weights are estimated


def test_what_could_not_be_seen_is_bounded(table):
    """The first half of the rows never plays d, which the target always does."""
    n = 2000
    share = np.where(np.arange(n) < n // 2, 0.0, 0.5)
    draws = np.random.default_rng(0)
    item = np.where(draws.random(n) < share, "d", "c")
    columns = {"item": item, "p_c": 1.0 - share, "p_d": share, "r": draws.random(n)}
    found = evaluate_table(
        columns, action="item", probability="p_*", reward="r", policy="constant:d",
        value_range=(0.0, 1.0),
    )["constant:d"]  # fmt: skip
    assert found.estimates == {}
    assert found.unseen_share == 0.5
    assert 0.15 < found.bounds.lower < 0.25
    assert 0.75 < found.bounds.upper < 0.85


def test_an_action_that_was_never_seen_may_be_allowed(table):
    found = evaluate_table(table, policy=["constant:z", "new"], unseen="bound", **ASKED)
    assert found["constant:z"].unseen_share == 1.0
    assert found["constant:z"].bounds == (0.0, 1.0)
    assert found["new"].difference is None
    assert found["new"].estimate is not None


def test_no_interval_leaves_the_range():
    columns = {"item": ["a", "b", "a"], "p": [0.5, 0.5, 0.5], "r": [1.0, 1.0, 0.96]}
    found = evaluate_table(
        columns, action="item", probability="p", reward="r", policy="logged", value_range=(0, 1)
    )
    for one in found["logged"].estimates.values():
        for interval in (one.normal, one.anytime):
            assert interval is None or (interval.lower >= 0.0 and interval.upper <= 1.0)


def test_the_range_is_what_the_column_spans_and_said_so():
    columns = {"item": ["a", "b"] * 50, "p": [0.5] * 100, "r": [2.0, 5.0] * 50}
    found = evaluate_table(columns, action="item", probability="p", reward="r", policy="uniform")
    assert found.value_range == (2.0, 5.0)
    assert "the range is what the column 'r' spans, 2 to 5" in found.rests_on[0]


def revealing_table(n=4000, seed=3):
    """Playing d shows the values of all actions, others their own."""
    table = shop(n, seed)
    draws = np.random.default_rng(seed)
    item = table["item"].to_numpy(zero_copy_only=False)
    x = table["x"].to_numpy()
    for k, name in enumerate(NAMES):
        value = (draws.random(n) < mean_click(x, k)).astype(float)
        hidden = (item != name) & (item != "d")
        table = table.append_column(f"l_{name}", pa.array(value, mask=hidden))
    return table


def graph_by_hand(table, target):
    shares = np.stack([table[f"p_{name}"].to_numpy() for name in NAMES], axis=1)
    reveal = shares + shares[:, 3:] * np.array([1.0, 1.0, 1.0, 0.0])
    values = np.stack([table[f"l_{name}"].to_numpy() for name in NAMES], axis=1)
    weights = np.where(np.isnan(values), 0.0, target / reveal)
    terms = weights * np.nan_to_num(values)
    return terms.sum() / weights.sum()


@pytest.mark.parametrize("graph", [None, {"all": ["d"], "own": True}])
def test_rows_that_show_several_values(graph):
    table = revealing_table()
    found = evaluate_table(
        table, action="item", probability="p_*", reveals="l_*", graph=graph, policy="uniform"
    )["uniform"]
    expected = graph_by_hand(table, np.full(4, 0.25))
    assert found.estimates["self-normalised"].value == pytest.approx(expected, rel=1e-12)
    alone = evaluate_table(table, policy="uniform", **ASKED)["uniform"]
    assert found.estimate.standard_error < 0.8 * alone.estimate.standard_error


def test_rows_with_their_own_actions():
    sets = [["a", "b"], ["b", "c", "d"], ["a", "b"], ["b", "c", "d"]]
    columns = {"item": ["a", "c", "b", "b"], "set": sets, "r": [1.0, 0.0, 0.0, 1.0],
               "ps": [[0.5, 0.5], [0.2, 0.5, 0.3], [0.75, 0.25], [0.5, 0.25, 0.25]]}  # fmt: skip
    found = evaluate_table(
        columns, action="item", action_set="set", probability="ps", reward="r", policy="uniform"
    )["uniform"]
    weights = np.array([0.5 / 0.5, (1 / 3) / 0.5, 0.5 / 0.25, (1 / 3) / 0.5])
    assert found.estimates["ips"].value == pytest.approx((weights @ columns["r"]) / 4.0)


def test_a_saved_learner_is_a_target(tmp_path):
    table = shop(300)
    problem = graphcb.Problem(
        list(NAMES), feedback="rewards", features={"x": "number", "country": "category"}
    )
    learner = graphcb.Learner(problem)
    for row in shop(200, seed=7).to_pylist():
        learner.learn(row, [row["item"]], [float(row["click"])])
    graphcb.save(learner, tmp_path / "model.npz")
    model = f"greedy:{tmp_path / 'model.npz'}"
    found = evaluate_table(table, policy=model, **ASKED)[model]
    best = [NAMES[learner.predict(row).argmax()] for row in table.to_pylist()]
    same = evaluate_table(table.append_column("best", pa.array(best)), policy="best", **ASKED)
    assert found.estimates == same["best"].estimates
    with pytest.raises(ValueError, match="needs its features: the table: must have a column 'x'"):
        evaluate_table(table.drop_columns(["x"]), policy=model, **ASKED)
