"""Wrong theory, planted on purpose: does the test of each theorem notice?

    python benchmarks/planted.py [--only WORD] [--quick]

A plant changes one line of the package or of a bound in a test, in a copy, and is met by the test
that guards it, which passes without the plant. Unlike `mutations.py`, which changes at random,
these are the mistakes that a test of an order must not let pass: another exponent, another
constant, a missing term. Prints which were noticed, and fails if one was not.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from measure import print_table

ROOT = Path(__file__).parents[1]
SCHEDULES = "src/graphcb/exploration/schedules.py"
ROOT_OF_T = "return self.c * math.sqrt(alpha * round_number)"
TWO_THIRDS = "return self.c * math.cbrt(self.d * round_number * round_number)"
CERTIFICATE = "src/graphcb/agents/certificate.py"
THEOREMS = "tests/reference/test_theorems.py"
LEMMA = "return 4.0 * alpha * np.log(4.0 * n_actions / (alpha * least))"
REGRET = "tests/learning/test_regret.py"
COROLLARY_3_3 = f"{REGRET}::test_corollary_3_3_regret_is_of_the_order_of_the_root"
COROLLARY_3_5 = f"{REGRET}::test_corollary_3_5_regret_is_of_the_order_two_thirds"
ALLOWED = "src/graphcb/exploration/allowed.py"
CERTIFIES = "tests/agents/test_certificate.py"


class Plant(NamedTuple):
    """What is wrong, where, and the test that must fail."""

    part: str
    wrong: str
    file: str
    old: str
    new: str
    test: str


def _gamma(part: str, wrong: str, old: str, new: str, test: str) -> Plant:
    return Plant(part, wrong, SCHEDULES, old, f"return {new}", test)


PLANTS = (
    _gamma("Corollary 3.3", "gamma = 2 t", ROOT_OF_T, "2.0 * round_number", COROLLARY_3_3),
    _gamma("Corollary 3.3", "greedy: gamma = 1e9", ROOT_OF_T, "1e9", COROLLARY_3_3),
    _gamma("Corollary 3.3", "gamma = t^1/4", ROOT_OF_T, "round_number**0.25", COROLLARY_3_3),
    _gamma("Corollary 3.3", "gamma = 2", ROOT_OF_T, "2.0", COROLLARY_3_3),
    _gamma("Corollary 3.5", "gamma = sqrt(t)", TWO_THIRDS, "round_number**0.5", COROLLARY_3_5),
    _gamma("Corollary 3.5", "gamma = t", TWO_THIRDS, "float(round_number)", COROLLARY_3_5),
    _gamma("Corollary 3.5", "gamma = t^3/2", TWO_THIRDS, "round_number**1.5", COROLLARY_3_5),
    _gamma("Corollary 3.5", "gamma = 0.2", TWO_THIRDS, "0.2", COROLLARY_3_5),
    Plant("Lemma E.1", "0.2 for 4", THEOREMS, LEMMA, LEMMA.replace("4.0", "0.2", 1), THEOREMS),
    Plant("Lemma E.1", "0.7 for 4", THEOREMS, LEMMA, LEMMA.replace("4.0", "0.7", 1), THEOREMS),
    Plant("Lemma E.1", "8 for 4", THEOREMS, LEMMA, LEMMA.replace("4.0", "8.0", 1), THEOREMS),
    Plant(
        "Lemma E.1", "no logarithm", THEOREMS, LEMMA, "return 4.0 * alpha", THEOREMS
    ),
    Plant(
        "Theorem 3.2", "alpha for alpha log", THEOREMS,
        "<= alpha * (1.0 + log / 2.0)", "<= alpha", THEOREMS,
    ),
    Plant(
        "Theorem 3.2", "the DEC is doubled", "src/graphcb/exploration/solver/problem.py",
        "return value / g\n", "return 2.0 * value / g\n", CERTIFIES,
    ),
    Plant(
        "Theorem 3.4", "d in place of its root", THEOREMS,
        "2.0 * np.sqrt(d * (1.0 - 1.0 / N_MEMBERS) / gamma)",
        "2.0 * d * np.sqrt((1.0 - 1.0 / N_MEMBERS) / gamma)", THEOREMS,
    ),
    Plant(
        "Theorem 3.1", "gamma / 5 for gamma / 4", CERTIFICATE,
        "self.gamma / 4.0", "self.gamma / 5.0", CERTIFIES,
    ),
    Plant(
        "Theorem 3.1", "gamma / 3 for gamma / 4", CERTIFICATE,
        "self.gamma / 4.0", "self.gamma / 3.0", CERTIFIES,
    ),
    Plant(
        "Theorem 3.1", "the last gamma for the largest", CERTIFICATE,
        "max(largest, gamma), earlier)", "gamma, earlier)", CERTIFIES,
    ),
    Plant(
        "Theorem 3.1", "no regression regret", CERTIFICATE,
        "self.exploration + self.gamma / 4.0 * regression_regret", "self.exploration", CERTIFIES,
    ),
    Plant(
        "Theorem 3.1, in a world that changes", "an oracle that keeps everything", CERTIFIES,
        "play_drifting(LinearOGD(6, 3, learning_rate=0.2))", "play_drifting(OnlineRidge(6, 3))",
        CERTIFIES,
    ),
    Plant(
        "Limits", "the comparator may leave them", ALLOWED,
        "lower, upper = _reached(box)", "lower, upper = np.zeros_like(p), np.ones_like(p)",
        "tests/exploration/test_allowed.py",
    ),
    Plant(
        "Limits", "the best action in place of the best within them", ALLOWED,
        "best, _ = cheapest(-slopes, *box)",
        "best = np.eye(p.size)[np.argmax(slopes)]", "tests/exploration/test_allowed.py",
    ),
    Plant(
        "The sum of alpha_t", "half of its root", "src/graphcb/exploration/from_graphs.py",
        "math.sqrt(alphas)", "math.sqrt(max(1.0, alphas)) / 2.0",
        "tests/exploration/test_from_graphs.py",
    ),
)  # fmt: skip


def fails(test: str, plant: Plant | None = None) -> bool:
    """Whether the test fails in a copy, with the plant if one is given."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        ignored = shutil.ignore_patterns("__pycache__", "compiled")
        shutil.copytree(ROOT / "src" / "graphcb", folder / "src" / "graphcb", ignore=ignored)
        shutil.copytree(ROOT / "tests", folder / "tests", ignore=ignored)
        for file in ("pyproject.toml", "conftest.py"):
            shutil.copy(ROOT / file, folder)
        if plant is not None:
            path = folder / plant.file
            text = path.read_text(encoding="utf-8")
            if text.count(plant.old) != 1:
                raise ValueError(
                    f"{plant.file} must have {plant.old!r} once, so that it can be changed"
                )
            path.write_text(text.replace(plant.old, plant.new), encoding="utf-8")
        command = [sys.executable, "-m", "pytest", test, "-q", "-x", "-m", "slow or not slow"]
        found = subprocess.run(
            [*command, "-p", "no:cacheprovider"],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(folder / "src")},
            capture_output=True,
            text=True,
        )
    if found.returncode not in (0, 1):
        raise RuntimeError(f"{test} did not run\n{found.stdout}")
    return found.returncode == 1


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", default="", help="plants whose part has this word")
    parser.add_argument("--quick", action="store_true", help="those that take seconds")
    given = parser.parse_args()
    chosen = [one for one in PLANTS if given.only in one.part]
    if given.quick:
        chosen = [one for one in chosen if REGRET not in one.test]
    for test in dict.fromkeys(one.test for one in chosen):
        if fails(test):
            raise RuntimeError(f"{test} must pass while nothing is planted")
    rows, missed = [], 0
    for one in chosen:
        noticed = fails(one.test, one)
        missed += not noticed
        print(f"{one.part}, {one.wrong}: {noticed}", file=sys.stderr, flush=True)
        rows.append((one.part, one.wrong, one.test.rpartition("/")[2], "yes" if noticed else "NO"))
    print_table(["part", "planted", "test", "noticed"], rows)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
