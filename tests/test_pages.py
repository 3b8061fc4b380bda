"""Every block of code in the documentation runs, and every public name is in the reference."""

import contextlib
import importlib
import io
import re
import shlex
import tomllib
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from studies.coverage.counting import holds
from studies.coverage.programs import PROGRAMS

import graphcb
import graphcb.cli
from graphcb.evaluation import evaluate, logged

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = sorted(page for page in DOCS.rglob("*.md") if page.parent.name != "decisions")
ROOMS = (
    "agents",
    "decisions",
    "environments",
    "evaluation",
    "experiments",
    "exploration",
    "graph_oracles",
    "graphs",
    "oracles",
)

BLOCK = re.compile(
    r"^(?:<!-- (?P<note>[^\n]*?) -->\n)?```(?P<language>\w*)\n(?P<text>.*?)^```$",
    flags=re.DOTALL | re.MULTILINE,
)
SNIPPET = re.compile(r'^--8<-- "(.*)"\n', flags=re.MULTILINE)  # a file that the page shows
NUMBER = re.compile(r"-?\d+\.?\d*")
NOT_RUN = ("pip install", "python -m venv", "make", "git", "docker", "GRAPHCB_DATA=")
# In tests/service/test_page.py and test_containers.py.
NOT_RUN += ("graphcb serve", "curl", "ID=", "KEY=")

# Their logs are of other programs, or hold two decisions: there is no truth to compare with.
NO_SIMULATION = ("other-systems",)

# The true mean of each policy that the page judges on its table.
TABLES = {"what-would-my-rule-have-earned": {"logged": 0.2, "constant:tea": 0.2, "new_item": 0.35}}


class Block(NamedTuple):
    """A fenced block: `note` is the comment above it, such as `file: problem.toml`.

    The numbers of a `text` block with the note `one run: 0.02` are those of one run of a learner.
    Those of other seeds have about this deviation. With `within: 0.05` they may be off by so much,
    as the learner is replaced by a better one. A line `...` stands for any number of lines.
    """

    note: str
    language: str
    text: str


def blocks_of(page: Path) -> list[Block]:
    text = SNIPPET.sub(lambda one: (DOCS / one[1]).read_text("utf-8"), page.read_text("utf-8"))
    found = BLOCK.finditer(text)
    return [Block(one["note"] or "", one["language"], one["text"]) for one in found]


def run_page(page: Path, more_seed: int = 0) -> list[tuple[Block, str]]:
    """Run the blocks of a page one after the other, in the current folder.

    `python` shares one namespace per page. `bash` runs the `graphcb` commands. A block with the
    note `file: NAME` is written to that file. A `text` block is what the block before it prints:
    all of them come back, with what was printed. `more_seed` is added to every seed.
    """
    space = {"__name__": "__main__"}
    printed, found = None, []
    for block in blocks_of(page):
        if block.note.startswith("file: "):
            Path(block.note.removeprefix("file: ")).write_text(block.text, encoding="utf-8")
        if block.language == "python":
            with contextlib.redirect_stdout(io.StringIO()) as out:
                exec(compile(_with_seeds(block.text, more_seed), f"{page.name}", "exec"), space)
            printed = out.getvalue()
        elif block.language == "bash":
            printed = "".join(_run_command(line) for line in _commands(block.text))
        elif block.language == "text":
            assert printed is not None, f"{page.name}: text without a program before it"
            found.append((block, printed))
        else:  # "" is a drawing
            known = block.language in ("", "toml", "csv", "json", "yaml", "dockerfile")
            assert known, f"{page.name}: a block of {block.language!r} is not run"
    return found


def _with_seeds(text: str, more: int) -> str:
    return re.sub(r"(default_rng\(|seed=)(\d+)", lambda m: f"{m[1]}{int(m[2]) + more}", text)


def assert_as_printed(said: str, printed: str, within: float = 0.0) -> None:
    """What a page says is what was printed, with numbers as close as `within`."""
    said, printed = _shown_of(said, printed)
    if within == 0.0:
        assert _lines(said) == _lines(printed)
        return
    assert _words(said) == _words(printed)
    off = np.abs(_numbers(said) - _numbers(printed))
    assert (off <= within).all(), f"said: {said}, printed: {printed}"


def _shown_of(said: str, printed: str) -> tuple[str, str]:
    """What a page says and what was printed, both without what its lines `...` stand for."""
    lines, shown, at = _lines(printed), [], 0
    pieces = [_lines(piece) for piece in re.split(r"^\.\.\.$", said, flags=re.MULTILINE)]
    for number, piece in enumerate(pieces):
        last = len(lines) - len(piece)
        starts = [0] if number == 0 else range(at, last + 1) if number < len(pieces) - 1 else [last]
        words = [_words(line) for line in piece]
        found = [i for i in starts if [_words(line) for line in lines[i : i + len(piece)]] == words]
        if not found:
            return said, printed
        at = found[0] + len(piece)
        shown += lines[found[0] : at]
    return "\n".join(line for piece in pieces for line in piece), "\n".join(shown)


def _deviation(block: Block) -> float | None:
    kind, _, number = block.note.partition(": ")
    return float(number) if kind == "one run" else None


def _within(block: Block) -> float:
    if (deviation := _deviation(block)) is not None:
        return 4.0 * float(np.sqrt(2.0)) * deviation
    kind, _, number = block.note.partition(": ")
    return float(number) if kind == "within" else 0.0


def _words(text: str) -> list[str]:
    return NUMBER.sub(" # ", text).split()


def _numbers(text: str) -> np.ndarray:
    return np.array([float(number) for number in NUMBER.findall(text)])


def _commands(text: str) -> list[str]:
    joined = text.replace("\\\n", " ")
    lines = (line for line in joined.splitlines() if line.strip())
    return [line for line in lines if not line.startswith("#")]


def _run_command(line: str) -> str:
    line = line.removeprefix(".venv/bin/")
    if line.startswith(NOT_RUN):
        return ""
    name, *arguments = shlex.split(line, comments=True)
    assert name == "graphcb", f"only graphcb commands are run, got {line!r}"
    with contextlib.redirect_stdout(io.StringIO()) as out:
        assert graphcb.cli.main(arguments) == 0, line
    return out.getvalue()


def _lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.strip().splitlines()]


@pytest.mark.parametrize(
    "page", [page for page in PAGES if blocks_of(page)], ids=lambda page: page.stem
)
def test_a_page_runs_as_printed(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GRAPHCB_DATA", raising=False)
    for block, printed in run_page(page):
        assert_as_printed(block.text, printed, _within(block))
    if page.stem in TABLES:
        assert_true_of_table(TABLES[page.stem])
    if page.stem in NO_SIMULATION:
        for path in tmp_path.glob("*.db"):
            assert_within_range(path)


@pytest.mark.slow
@pytest.mark.parametrize(
    "page",
    [
        page
        for page in PAGES
        if page.stem != "first-programs"  # forty runs of whole programs take too long
        and any(_deviation(block) for block in blocks_of(page))
    ],
    ids=lambda page: page.stem,
)
def test_what_one_run_prints_is_as_far_from_other_runs_as_is_noted(page, tmp_path, monkeypatch):
    runs = []
    for seed in range(8):
        (tmp_path / str(seed)).mkdir()
        monkeypatch.chdir(tmp_path / str(seed))
        runs.append(run_page(page, 100 * seed))
    for (block, _), *printed in zip(runs[0], *([p for _, p in run] for run in runs), strict=True):
        if (noted := _deviation(block)) is not None:
            pairs = [_shown_of(block.text, text) for text in printed]
            numbers = np.array([_numbers(shown) for _, shown in pairs])
            assert 0.5 * noted < numbers.std(axis=0, ddof=1).max() < 2.0 * noted
            assert (np.abs(_numbers(pairs[0][0]) - numbers.mean(axis=0)) < 4.0 * noted).all()


def test_a_page_that_says_something_else_is_noticed():
    assert_as_printed("[0.5  nan]", "[0.52  nan]", within=0.03)
    for said, within in (("[0.5  nan]", 0.0), ("[0.2  nan]", 0.03), ("[0.5  0.5]", 0.03)):
        with pytest.raises(AssertionError):
            assert_as_printed(said, "[0.52  nan]", within)


def test_an_excerpt_is_compared_with_what_it_shows():
    printed = "title\n1 a\n2 a\n3 b\nend 0.5"
    for said in ("title\n...\n3 b\nend 0.5", "title\n...\nend 0.5", "...\n2 a\n...", "title\n..."):
        assert_as_printed(said, printed, within=1.0)
    assert_as_printed("title\n...\nend 0.5", printed)
    for said in ("1 a\n...\nend 0.5", "title\n...\n3 b", "title\n...\n3 c\n...", "...\nend 0.9"):
        with pytest.raises(AssertionError):
            assert_as_printed(said, printed)


def assert_true_of_table(truths: dict[str, float]) -> None:
    columns = {"action": "item", "reward": "click", "features": ["device"]}
    for probability in ("propensity", None):
        found = graphcb.evaluate_table(
            "shop.csv", **columns, probability=probability, policy=list(truths)
        )
        for judged in found.policies:
            for estimate in judged.estimates.values():
                for interval in (estimate.normal, estimate.bernstein, estimate.anytime):
                    assert interval is None or holds(interval, truths[judged.policy])
            if judged is not found.policies[0]:
                apart = truths[judged.policy] - truths["logged"]
                assert holds(judged.difference.interval, apart)


def assert_within_range(path: Path) -> None:
    with graphcb.DecisionLog(path) as log:
        low, high = log.versions.range or (0.0, 1.0)
        for estimate in evaluate(log, logged).estimates.values():
            for interval in (estimate.normal, estimate.bernstein, estimate.anytime):
                assert interval is None or low <= interval.lower <= interval.upper <= high


def test_every_page_that_judges_a_log_is_compared_with_the_truth():
    compared = {ROOT / program.page for program in PROGRAMS.values()}
    for page in PAGES:
        code = "\n".join(block.text for block in blocks_of(page) if block.language != "text")
        judges = re.search(r"log summary|\bevaluate\b", code) is not None
        assert judges <= (page in compared or page.stem in (*TABLES, *NO_SIMULATION)), page


def test_what_the_table_of_graphs_says_makes_a_problem():
    table = (DOCS / "which-graph.md").read_text(encoding="utf-8").split("If nothing fits")[0]
    said = re.findall(r"`reveals=(.+?)`", table)
    assert len(said) >= 10
    names = ["small", "large", "review", "call"]
    for code in said:
        graph = graphcb.graphs.disjoint_cliques([3, 1])
        code = code.replace(", ...]", ', ["large", "review"]]')
        reveals = eval(code, {"graph": graph})
        if isinstance(reveals, dict):
            reveals = {"own": "all" not in reveals, **reveals}
        assert graphcb.Problem(names, reveals=reveals).actions == tuple(names)
    graphs = re.findall(r"`(graphs\.\w+\([^`]*\))`", table)
    assert len(graphs) >= 6
    for code in graphs:
        graph = eval(code, {"graphs": graphcb.graphs, "K": 4, "edges": [(0, 1)]})
        assert graph.n_actions >= 4


def test_every_page_is_in_the_navigation_and_every_note_in_the_list_of_decisions():
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    notes = (DOCS / "decisions.md").read_text(encoding="utf-8")
    for page in DOCS.rglob("*.md"):
        name = str(page.relative_to(DOCS))
        if page.parent.name == "decisions":
            title = page.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")
            assert f"- [{title}]({name})\n" in notes
        else:
            assert f" {name}\n" in navigation


def test_the_site_says_its_version():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    site = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    assert f"\nsite_name: graphcb {project['version']}\n" in site


def public_names():
    for name in graphcb.__all__:
        if not hasattr(getattr(graphcb, name), "__path__"):
            yield f"graphcb.{name}"
    for room in ROOMS:
        for name in importlib.import_module(f"graphcb.{room}").__all__:
            if name not in graphcb.__all__:
                yield f"graphcb.{room}.{name}"


def test_every_public_name_is_in_the_reference():
    pages = [page.read_text(encoding="utf-8") for page in (DOCS / "reference").glob("*.md")]
    described = re.findall(r"^::: (\S+)$", "\n".join(pages), flags=re.MULTILINE)
    assert sorted(described) == sorted(set(described)), "a name is described twice"
    assert set(public_names()) - set(described) == set()
