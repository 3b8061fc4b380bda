"""What the documents point at exists, and the decision notes are numbered and short."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DECISIONS = ROOT / "docs" / "decisions"
DOCUMENTS = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "CHANGELOG.md",
    ROOT / "benchmarks" / "RESULTS.md",
    *sorted((ROOT / "docs").rglob("*.md")),
]
PATH = re.compile(r"\b(?:src|tests|benchmarks|docs)/[\w/.-]*\.(?:py|md|toml|png)\b")


def notes():
    return [path.name for path in sorted(DECISIONS.glob("*.md"))]


def test_no_two_decision_notes_have_one_number():
    numbers = [re.match(r"\d{4}(?=-[a-z0-9-]+\.md$)", name)[0] for name in notes()]
    assert len(set(numbers)) == len(numbers)


def test_a_decision_note_is_half_a_page():
    long = [name for name in notes() if len((DECISIONS / name).read_text("utf-8")) > 3500]
    assert long == []


def test_each_decision_note_starts_with_its_number():
    for name in notes():
        first = (DECISIONS / name).read_text(encoding="utf-8").splitlines()[0]
        assert first.startswith(f"# {name[:4]}: "), name


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_links_and_paths_in_documents_exist(document):
    text = document.read_text(encoding="utf-8")
    links = [link.partition("#")[0] for link in re.findall(r"\]\(([^)\s]+)\)", text)]
    files = [document.parent / link for link in links if link and "://" not in link]
    files += [ROOT / path for path in PATH.findall(text)]
    assert [str(file) for file in files if not file.exists()] == []


def test_decision_notes_named_anywhere_exist():
    known = {name[:4] for name in notes()}
    sources = [path for room in ("src", "benchmarks", "docs") for path in (ROOT / room).rglob("*")]
    for path in [*DOCUMENTS, *(path for path in sources if path.suffix in (".py", ".md"))]:
        named = re.findall(r"decisions/(\d{4})", path.read_text(encoding="utf-8"))
        assert set(named) <= known, path


FILES = {
    path.name
    for room in ("src", "tests", "benchmarks", "docs")
    for path in (ROOT / room).rglob("*")
}
SHORT = re.compile(r"`([\w/.{},-]+\.(?:py|md|toml|js)|[\w-]+(?:/[\w-]+)+)`")


@pytest.mark.parametrize("name", ["docs/design.md", "docs/paper.md", "CONTRIBUTING.md"])
def test_short_paths_exist(name):
    """`graphs/families` is in the package, `contract/test_limits.py` in the tests, or a path."""
    text = (ROOT / name).read_text(encoding="utf-8")
    homes = (ROOT, ROOT / "src" / "graphcb", ROOT / "tests", ROOT / "docs")
    named = {path for path in SHORT.findall(text) if path != "problem.toml"}
    assert len(named) > 10
    missing = {
        path
        for path in named
        if not any((home / path).exists() for home in homes)
        and not ("/" not in path and path in FILES)
    }
    assert missing == set()


def test_every_room_is_in_the_design():
    rooms = (DECISIONS.parent / "design.md").read_text(encoding="utf-8").partition("## Rooms")[2]
    first_cells = re.findall(r"^\| (`.*?) \|", rooms, flags=re.MULTILINE)
    named = {room for cell in first_cells for room in re.findall(r"`(\w+)`", cell)}
    assert named == {path.stem for path in (ROOT / "src" / "graphcb").glob("[a-z]*")} - {"py"}
