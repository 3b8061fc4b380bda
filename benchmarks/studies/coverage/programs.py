"""Programs of the documentation, which can be run many times, and the truth behind their logs.

The text of a program is taken from where it is printed. Only its seeds and the number of its
decisions are changed.
"""

import contextlib
import io
import re
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from graphcb.decisions import LoggedDecision
from studies.coverage.claiming import Means, claims_of
from studies.coverage.counting import Counts

ROOT = Path(__file__).parents[3]


class Program(NamedTuple):
    """Where a program stands, what is changed in it, and what is true of its decisions.

    `changes` are texts that must be there, with their replacements, in which {n} and {seed} are
    filled in. `means` gives the mean of what each action brings, given the context of a decision.
    `rule` is the constant action that is judged beside the policy.
    """

    page: str
    log: str
    changes: Mapping[str, str]
    means: Means
    rule: str


def _payments(row: LoggedDecision) -> dict[str, float]:
    fraud = 0.5 if row.context["country"] == "XX" else 0.005
    return {"approve": -50.0 * fraud + (1.0 - fraud), "review": -2.0}


def _fraud(row: LoggedDecision) -> dict[str, float]:
    risky = row.context["country"] == "XX" and row.context["amount"] > 20.0
    fraud = 0.6 if risky else 0.01
    return {"approve": -20.0 * fraud + (1.0 - fraud), "review": -1.0}


def _desks(row: LoggedDecision) -> dict[str, float]:
    usual = {"price": 0, "bug": 1, "invoice": 2}.get(row.context["topic"])
    right = int(row.context["urgency"] > 0.5) if usual is None else usual
    names = ("sales", "support", "billing")
    return {name: float(i != right) for i, name in enumerate(names)} | {"review": 0.0}


def _costs(row: LoggedDecision) -> dict[str, float]:
    risky = row.context["country"] == "XX" and row.context["amount"] > 40
    fraud = 0.9 if risky else 0.01
    return {"approve": 60.0 * fraud, "block": 12.0 * (1.0 - fraud), "review": 3.0}


def _models(row: LoggedDecision) -> dict[str, float]:
    price = {"tiny": 0.01, "small": 0.05, "medium": 0.15, "large": 0.4}
    enough = ["greeting", "invoice", "contract", "law"].index(row.context["topic"])
    return {name: float(i >= enough) - cost for i, (name, cost) in enumerate(price.items())}


def _stock(row: LoggedDecision) -> dict[str, float]:
    demand = 0.2 + 0.6 * row.context["weather"]
    levels = {"small": 0.2, "medium": 0.5, "large": 0.8}
    return {name: abs(level - demand) for name, level in levels.items()}


def _answers(row: LoggedDecision) -> dict[str, float]:
    return {"approve": 0.3, "review": 0.5}


def _shadow(row: LoggedDecision) -> dict[str, float]:
    return {"today": 0.5, "new": 0.2}


def _checkout(row: LoggedDecision) -> dict[str, float]:
    return {"old": 0.10, "new": 0.16}


def _bids(row: LoggedDecision) -> dict[str, float]:
    return {name: float(name) * (1.0 - float(name)) for name in ("0.2", "0.4", "0.6", "0.8")}


_SEEDS = {"default_rng(0)": "default_rng({seed})", "seed=0": "seed={seed}"}
# A log of a study need not survive a power cut.
_QUICK = {"seed=0)": 'seed={seed}, durability="process-kill")'}
_HERE = {'f"{tempfile.mkdtemp()}/payments.db"': '"payments.db"'}
PROGRAMS = {
    "README, payments": Program(
        "README.md",
        "payments.db",
        {"default_rng(0)": "default_rng({seed})", **_QUICK, **_HERE, "range(1000)": "range({n})"},
        _payments,
        "approve",
    ),
    "README, payments, explore = 0.01": Program(
        "README.md",
        "payments.db",
        {
            "default_rng(0)": "default_rng({seed})",
            **_QUICK,
            **_HERE,
            "range(1000)": "range({n})",
            "range=(-50, 1)": "range=(-50, 1), explore=0.01",
        },
        _payments,
        "review",
    ),
    "tutorial, fraud": Program(
        "docs/tutorials/fraud-review.md",
        "fraud.db",
        {**_SEEDS, "range(1500)": "range({n})"},
        _fraud,
        "approve",
    ),
    "tutorial, desks": Program(
        "docs/tutorials/review-quota.md",
        "desks.db",
        {**_SEEDS, "range(1500)": "range({n})", "lost[750:]": "lost[{n} // 2 :]"},
        _desks,
        "sales",
    ),
    "program, fraud review": Program(
        "docs/programs/fraud_review.py",
        "costs.db",
        {**_SEEDS, "0.0, 1500": "0.0, {n}"},
        _costs,
        "block",
    ),
    "program, model routing": Program(
        "docs/programs/model_routing.py",
        "models.db",
        {**_SEEDS, "n: int = 1500": "n: int = {n}"},
        _models,
        "medium",
    ),
    "how-to, stock": Program(
        "docs/how-to/evaluation.md",
        "stock.db",
        {"default_rng(0)": "default_rng({seed})", "seed=2": "seed={seed}",
         "range(400)": "range({n})"},
        _stock,
        "medium",
    ),
    "how-to, learned answers": Program(
        "docs/how-to/unknown-graphs.md",
        "answers.db",
        {"default_rng(1)": "default_rng({seed})", **_QUICK, "range(300)": "range({n})"},
        _answers,
        "approve",
    ),
    "how-to, shadow": Program(
        "docs/how-to/guardrails.md", "shadow.db", {"range(100)": "range({n})"}, _shadow, "new"
    ),
    "how-to, checkout": Program(
        "docs/how-to/ab-test.md",
        "checkout.db",
        {**_SEEDS, "range(60)": "range({n} // 100)"},
        _checkout,
        "old",
    ),
    "how-to, bids": Program(
        "docs/how-to/unknown-graphs.md",
        "auctions.db",
        {"default_rng(0).random(500)": "default_rng({seed}).random({n})", **_QUICK},
        _bids,
        "0.8",
    ),
}  # fmt: skip


def judge_program(
    settings: Mapping[str, Any], rng: np.random.Generator, looks: int, counts: Counts
) -> int:
    """One log of a program, as `evaluate`, `log summary` and the page of the service show it."""
    program, n = PROGRAMS[settings["name"]], int(settings["decisions"])
    with tempfile.TemporaryDirectory() as folder:
        path = run(program, Path(folder), n, int(rng.integers(2**31)))
        counts.add(claims_of(path, program.means, program.rule))
    return n


def run(program: Program, folder: Path, n: int | None = None, seed: int | None = None) -> Path:
    """Run a program in a folder, and say where its log is; without `n` it is run as it is."""
    text = source(program)
    if n is not None:
        for old, new in program.changes.items():
            if old not in text:
                raise ValueError(f"{program.page} must contain {old!r}, as `changes` says")
            text = text.replace(old, new.format(n=n, seed=seed))
    space: dict[str, Any] = {"__name__": "program"}
    with contextlib.chdir(folder), contextlib.redirect_stdout(io.StringIO()):
        for name, content in files(program).items():
            Path(name).write_text(content, encoding="utf-8")
        exec(compile(text, program.page, "exec"), space)
        if program.page.endswith(".py"):
            space["main"](program.log)
    return folder / program.log


def source(program: Program) -> str:
    """The text of a program: of a page, the block that writes the log."""
    text = (ROOT / program.page).read_text(encoding="utf-8")
    if program.page.endswith(".py"):
        return text
    blocks = re.findall(r"^```python\n(.*?)^```$", text, flags=re.DOTALL | re.MULTILINE)
    (writes,) = [
        block for block in blocks if re.search(rf'Policy\(f?"[^"]*{program.log}", ', block)
    ]
    imports = "import numpy as np\nimport graphcb\nfrom graphcb import Policy\n"
    return f"{'' if 'import numpy' in writes else imports}{writes}"


def files(program: Program) -> dict[str, str]:
    """What a page says should be in files beside the program, by name."""
    if program.page.endswith(".py"):
        return {}
    text = (ROOT / program.page).read_text(encoding="utf-8")
    block = r"^<!-- file: (\S+) -->\n```\w*\n(.*?)^```$"
    return dict(re.findall(block, text, flags=re.DOTALL | re.MULTILINE))
