import re

import numpy as np
import pytest

from graphcb.experiments.claims import KINDS, Claim
from graphcb.experiments.curves import Summary


def line(name, mean, deviation=0.01, finals=(-0.01, 0.0, 0.01)):
    rounds = np.array([1, 500, 1000, 2000])
    curve = mean + np.array([0.3, 0.2, 0.1, 0.0])
    spread = np.array([4.0, 3.0, 2.0, 1.0]) * deviation
    runs = curve + np.array(finals)[:, np.newaxis]
    return Summary("A", name, 0.1, 1.0, 3, mean, deviation, (), rounds, curve, spread, runs)


def check(kind, *lines, **numbers):
    claim = Claim("said", kind, [f"A, {s.line}" for s in lines], **numbers)
    # Other lines, and the order in which they come, do not matter.
    return claim.check([*reversed(lines), line("other", 9.0)])


def power(name, *exponents):
    """A line whose regret grows like t ** exponent, which may differ between the seeds."""
    rounds = np.arange(10, 1001, 10)
    each = exponents if len(exponents) > 1 else exponents * 3
    runs = np.stack([rounds ** (exponent - 1.0) for exponent in each])
    mean = runs.mean(axis=0)
    return Summary("A", name, 0.0, 1.0, len(runs), mean[-1], 0.0, (), rounds, mean, mean, runs)


half, two_thirds, linear = power("half", 0.5), power("2/3", 2 / 3), power("1", 1.0)
a, b, c = line("a", 0.20), line("b", 0.23, finals=(-0.012, 0.002, 0.01)), line("c", 0.30)
near = line("d", 0.19, finals=(-0.02, 0.0, 0.02))
one_seed = a._replace(line="one", runs=a.runs[:1])
unsure, sure = power("unsure", 0.66, 0.76, 0.86), power("sure", 0.75, 0.76, 0.77)
# Differences of -0.028, -0.032 and -0.03, and of 0.02, 0.01 and 0: t = 4.303 and 1.061 of 2.
BELOW = (
    "0.2000 against 0.2300: -0.0300 (-0.0350 to -0.0250), 3 seeds; 0.0062 would be noticed in 80 %"
)
ABOVE = (
    "0.2300 against 0.2000: +0.0300 (+0.0250 to +0.0350), 3 seeds; 0.0062 would be noticed in 80 %"
)
NEAR = (
    "0.2000 against 0.1900: +0.0100 (-0.0148 to +0.0348), 3 seeds; 0.0310 would be noticed in 80 %"
)
NEAR_BACK = NEAR.replace(
    "0.2000 against 0.1900: +0.0100 (-0.0148 to +0.0348)",
    "0.1900 against 0.2000: -0.0100 (-0.0348 to +0.0148)",
)


def noticed(what):
    return f"; {what} would be noticed in 80 %"


# 0.00 for lines that are the same with all seeds.
NOTICED = {n: noticed(f"{n} too much") for n in ("0.00", "0.03", "0.33")}


@pytest.mark.parametrize(
    ("kind", "lines", "numbers", "holds", "measured"),
    [
        ("flat", (a, b), {"within": 0.031}, True, "spread 0.0300" + noticed("0.0322")),
        ("flat", (a, b, c), {"within": 0.031}, False, "spread 0.1000" + noticed("0.0310")),
        ("increasing", (a, b, c), {}, True, "steps +0.0300, +0.0700" + noticed("-0.0012")),
        ("increasing", (a, c, b), {}, False, "steps +0.1000, -0.0700" + noticed("-0.0012")),
        ("increasing", (a, line("a2", 0.20)), {}, False, "steps +0.0000" + noticed("-0.0000")),
        ("level", (a, near), {}, True, NEAR),
        ("level", (a, b), {}, False, BELOW),
        ("level", (b, a), {}, False, ABOVE),
        ("no worse", (a, b), {}, True, BELOW),
        ("no worse", (a, near), {}, True, NEAR),
        ("no worse", (b, a), {}, False, ABOVE),
        (
            "consistently below",
            (a, b),
            {},
            True,
            "at 4 of 4 rounds, with 3 of 3 seeds" + noticed("below by 0.0004 or less"),
        ),
        (
            "consistently below",
            (a, a),
            {},
            False,
            "at 0 of 4 rounds, with 0 of 3 seeds" + noticed("below by 0.0000 or less"),
        ),
        (
            "consistently below",  # at every round on average, but not with every seed
            (a, line("e", 0.21, finals=(-0.03, 0.0, 0.03))),
            {},
            False,
            "at 4 of 4 rounds, with 2 of 3 seeds" + noticed("below by 0.0043 or less"),
        ),
        (
            "consistently below",  # with every seed at the end, but not at every round
            (a._replace(mean_curve=np.add(b.mean_curve, [0.1, 0.1, -0.1, -0.1])), b),
            {},
            False,
            "at 2 of 4 rounds, with 3 of 3 seeds" + noticed("below by 0.0004 or less"),
        ),
        ("apart", (a, b), {}, True, BELOW),
        ("apart", (near, a), {}, False, NEAR_BACK),
        ("apart", (b, a), {}, False, ABOVE),
        (
            "apart",
            (one_seed, one_seed._replace(line="other one", mean=0.23)),
            {},
            False,
            "0.2000 against 0.2300, one seed",
        ),
        (
            "gap removed",
            (a, b, c),
            {"more_than": 0.5},
            True,
            "70% of the gap" + noticed("49% or less"),
        ),
        (
            "gap removed",
            (a, b, c),
            {"more_than": 0.8},
            False,
            "70% of the gap" + noticed("79% or less"),
        ),
        (
            "lower early",
            (a, b),
            {"rounds": 1000},
            True,
            "0.3000 against 0.3300" + noticed("0.0012 above"),
        ),
        (
            "lower early",
            (b, a),
            {"rounds": 999},
            False,
            "0.4300 against 0.4000" + noticed("0.0012 above"),
        ),
        (
            "steadier early",
            (a, line("b", 0.1, 0.02)),
            {"rounds": 1999},
            True,
            "deviation 0.0200 against 0.0400" + noticed("2.0 times the other"),
        ),
        (
            "steadier early",
            (line("a", 0.2, 0.02), b),
            {"rounds": 500},
            False,
            "deviation 0.0600 against 0.0300" + noticed("2.0 times the other"),
        ),
        (
            "slopes",
            (two_thirds, half),
            {"more_than": 0.45, "within": 0.7},
            True,
            f"slopes 0.67 (0.67 to 0.67), 0.50 (0.50 to 0.50){NOTICED['0.00']}",
        ),
        (
            "slopes",
            (two_thirds, linear),
            {"more_than": 0.45, "within": 0.7},
            False,
            f"slopes 0.67 (0.67 to 0.67), 1.00 (1.00 to 1.00){NOTICED['0.00']}",
        ),
        (
            "slopes",
            (half,),
            {"more_than": 0.6, "within": 0.7},
            False,
            f"slopes 0.50 (0.50 to 0.50){NOTICED['0.00']}",
        ),
        (
            "slopes",
            (unsure,),
            {"within": 0.7},
            True,
            f"slopes 0.79 (0.54 to 1.08){NOTICED['0.33']}",
        ),
        ("slopes", (sure,), {"within": 0.7}, False, f"slopes 0.76 (0.74 to 0.79){NOTICED['0.03']}"),
        (
            "steeper",
            (half, two_thirds),
            {},
            True,
            f"slopes 0.50 and 0.67 (+0.17 to +0.17){NOTICED['0.00']}",
        ),
        (
            "steeper",
            (unsure, two_thirds),
            {},
            True,
            f"slopes 0.79 and 0.67 (-0.41 to +0.12){NOTICED['0.33']}",
        ),
        (
            "steeper",
            (sure, two_thirds),
            {},
            False,
            f"slopes 0.76 and 0.67 (-0.12 to -0.07){NOTICED['0.03']}",
        ),
        (
            "steeper",
            (half, two_thirds, linear, half._replace(line="also half")),
            {},
            False,
            "slopes 0.50 and 0.67 (+0.17 to +0.17), 1.00 and 0.50 (-0.50 to -0.50)"
            + NOTICED["0.00"],
        ),
        (
            "allowed",
            (a, b, c),
            {"allowed": [0.04, 0.11]},
            True,
            "0.0300 of 0.04, 0.1000 of 0.11" + noticed("0.0012 more than that"),
        ),
        (
            "allowed",
            (a, b, c),
            {"allowed": [0.04, 0.09]},
            False,
            "0.0300 of 0.04, 0.1000 of 0.09" + noticed("0.0012 more than that"),
        ),
    ],
)
def test_each_kind_holds_and_does_not(kind, lines, numbers, holds, measured):
    assert check(kind, *lines, **numbers) == ("said", measured, holds)


def test_no_kind_is_left_out():
    tried = {case[0] for case in test_each_kind_holds_and_does_not.pytestmark[0].args[1]}
    assert tried == set(KINDS)


N_SEEDS, N_EXPERIMENTS = 20, 2000
# What is true in units of what a kind says that it would notice, 1: the final losses of its lines.
TRUTHS = {
    "flat": lambda x: (0.2, 0.2 + x),
    "increasing": lambda x: (0.2, 0.2 + x),
    "level": lambda x: (0.2, 0.2 + x),
    "no worse": lambda x: (0.2 + x, 0.2),
    "apart": lambda x: (0.2 - x, 0.2),  # the claim is what is to be noticed
    "consistently below": lambda x: (0.2 - x, 0.2),
    "gap removed": lambda x: (0.1, 0.2 - 0.1 * x, 0.2),
    "lower early": lambda x: (0.2 + x, 0.2),
    "allowed": lambda x: (0.2, 0.21 + x),
}
NUMBERS = {
    "flat": {"within": 0.01},
    "gap removed": {"more_than": 0.5},
    "lower early": {"rounds": 2000},
    "allowed": {"allowed": [0.01]},
}


def drawn(rng, means, deviations=(0.01, 0.01, 0.01)):
    """Lines with as many seeds, independent of each other."""
    for name, mean, deviation in zip("xyz", means, deviations, strict=False):
        finals = rng.normal(0.0, deviation, N_SEEDS)
        each = line(name, mean, finals=finals)
        runs = each.runs
        yield each._replace(
            n_seeds=N_SEEDS,
            mean=float(runs[:, -1].mean()),
            mean_curve=runs.mean(axis=0),
            deviation_curve=runs.std(axis=0, ddof=1),
        )


def amount(measured):
    """What a claim says that it would have noticed."""
    said = measured.rsplit("; ", 1)[1]
    number = float(re.search(r"[-\d.]+", said)[0])
    return number / 100.0 if "%" in said.removesuffix("in 80 %") else number


@pytest.mark.parametrize("kind", [*TRUTHS, "steadier early"])
def test_what_is_said_to_be_noticed_is_noticed_in_80_percent(kind):
    rng, numbers = np.random.default_rng(0), NUMBERS.get(kind, {})
    if kind == "steadier early":
        numbers = {"rounds": 2000}

        def play(x):
            return check(kind, *drawn(rng, (0.2, 0.2), (0.01 * x, 0.01)), **numbers)
    else:

        def play(x):
            return check(kind, *drawn(rng, TRUTHS[kind](x)), **numbers)

    # The mean of what experiments say, as each has only its own seeds to go by.
    said = float(np.mean([amount(play(0.5).measured) for _ in range(200)]))
    found = np.mean([play(said).holds == (kind == "apart") for _ in range(N_EXPERIMENTS)])
    assert found == pytest.approx(0.8, abs=0.04)  # 4 standard errors; 0.0001 is what is printed


def test_one_seed_does_not_say_what_it_would_notice():
    other = one_seed._replace(line="other one", mean=0.23, n_seeds=1)
    for kind in ("flat", "increasing", "consistently below", "lower early", "steadier early"):
        measured = check(kind, one_seed._replace(n_seeds=1), other, rounds=2000).measured
        assert "noticed" not in measured
