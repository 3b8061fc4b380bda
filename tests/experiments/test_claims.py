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

# 0.00 for lines that are the same with all seeds.
NOTICED = {n: f"; {n} too much would be noticed in 80 %" for n in ("0.00", "0.03", "0.33")}


@pytest.mark.parametrize(
    ("kind", "lines", "numbers", "holds", "measured"),
    [
        ("flat", (a, b), {"within": 0.031}, True, "spread 0.0300"),
        ("flat", (a, b, c), {"within": 0.031}, False, "spread 0.1000"),
        ("increasing", (a, b, c), {}, True, "steps +0.0300, +0.0700"),
        ("increasing", (a, c, b), {}, False, "steps +0.1000, -0.0700"),
        ("increasing", (a, line("a2", 0.20)), {}, False, "steps +0.0000"),
        ("level", (a, near), {}, True, NEAR),
        ("level", (a, b), {}, False, BELOW),
        ("level", (b, a), {}, False, ABOVE),
        ("no worse", (a, b), {}, True, BELOW),
        ("no worse", (a, near), {}, True, NEAR),
        ("no worse", (b, a), {}, False, ABOVE),
        ("consistently below", (a, b), {}, True, "at 4 of 4 rounds, with 3 of 3 seeds"),
        ("consistently below", (a, a), {}, False, "at 0 of 4 rounds, with 0 of 3 seeds"),
        (
            "consistently below",  # at every round on average, but not with every seed
            (a, line("e", 0.21, finals=(-0.03, 0.0, 0.03))),
            {},
            False,
            "at 4 of 4 rounds, with 2 of 3 seeds",
        ),
        (
            "consistently below",  # with every seed at the end, but not at every round
            (a._replace(mean_curve=np.add(b.mean_curve, [0.1, 0.1, -0.1, -0.1])), b),
            {},
            False,
            "at 2 of 4 rounds, with 3 of 3 seeds",
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
        ("gap removed", (a, b, c), {"more_than": 0.5}, True, "70% of the gap"),
        ("gap removed", (a, b, c), {"more_than": 0.8}, False, "70% of the gap"),
        ("lower early", (a, b), {"rounds": 1000}, True, "0.3000 against 0.3300"),
        ("lower early", (b, a), {"rounds": 999}, False, "0.4300 against 0.4000"),
        (
            "steadier early",
            (a, line("b", 0.1, 0.02)),
            {"rounds": 1999},
            True,
            "deviation 0.0200 against 0.0400",
        ),
        (
            "steadier early",
            (line("a", 0.2, 0.02), b),
            {"rounds": 500},
            False,
            "deviation 0.0600 against 0.0300",
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
        ("allowed", (a, b, c), {"allowed": [0.04, 0.11]}, True, "0.0300 of 0.04, 0.1000 of 0.11"),
        ("allowed", (a, b, c), {"allowed": [0.04, 0.09]}, False, "0.0300 of 0.04, 0.1000 of 0.09"),
    ],
)
def test_each_kind_holds_and_does_not(kind, lines, numbers, holds, measured):
    assert check(kind, *lines, **numbers) == ("said", measured, holds)


def test_no_kind_is_left_out():
    tried = {case[0] for case in test_each_kind_holds_and_does_not.pytestmark[0].args[1]}
    assert tried == set(KINDS)
