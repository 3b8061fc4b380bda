"""The documentation site in a real browser, opened as files: it is built as by `make docs`."""

import html
import re
import shutil
import subprocess
import sys
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

pytest.importorskip("zensical", reason="needs the extra `docs`")
pytest.importorskip("playwright.sync_api", reason="needs playwright")

from playwright.sync_api import sync_playwright

ROOT = Path(__file__).parents[1]
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium"),
]
WIDER_THAN_IT_SHOWS = """() =>
    [...document.querySelectorAll("pre > code")]
    .filter(code => code.scrollWidth > code.clientWidth + 1)
    .flatMap(code => code.textContent.split("\\n").filter(line => line.length <= 100
        && code.textContent.split("\\n").every(other => other.length <= 100)))"""


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    shutil.copy(ROOT / "mkdocs.yml", folder)
    for name in ("docs", "src"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    command = [Path(sys.executable).with_name("zensical"), "build"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    return folder / "site"


@pytest.fixture(scope="module")
def browser():
    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


def text_of(page):
    return html.unescape(re.sub(r"<[^>]+>", "", page.read_text(encoding="utf-8")))


@pytest.mark.parametrize("width", [1300, 390])
def test_every_page_fits_its_screen_and_loads_all_it_asks_for(site, browser, width):
    window = browser.new_page(viewport={"width": width, "height": 900})
    wrong = []
    window.on("pageerror", lambda error: wrong.append(str(error)))
    asked = set()
    window.on("request", lambda request: asked.add(request.url))
    pages = sorted(set(site.rglob("*.html")) - {site / "404.html"})  # which only a server shows
    assert len(pages) > 80
    for page in pages:
        window.goto(page.as_uri())
        if window.evaluate("document.documentElement.scrollWidth") > width:
            wrong.append(f"{page.relative_to(site)} is wider than {width}")
        if width == 1300:
            cut = window.evaluate(WIDER_THAN_IT_SHOWS)
            wrong += [f"{page.relative_to(site)} cuts {line!r}" for line in cut]
    wrong += [url for url in asked if not Path(unquote(urlsplit(url).path)).is_file()]
    assert wrong == []


def test_search_works_in_a_page_that_was_opened_as_a_file(site, browser):
    window = browser.new_page(viewport={"width": 1300, "height": 900})
    window.goto((site / "how-to" / "files.html").as_uri())
    window.keyboard.press("Control+k")
    window.keyboard.type("guardrails")
    window.get_by_text("What must hold whatever is learned").wait_for(timeout=60_000)


def test_the_reference_has_methods_signatures_and_fields(site):
    decisions = text_of(site / "reference" / "decisions.html")
    for method in ("decide(", "decide_many(", "feedback(", "feedback_many(", "close("):
        assert method in decisions, method
    assert "Policy(" in decisions
    assert "durability: Durability = 'power-loss'" in decisions.replace('"', "'")
    for field in ("decision_id: str", "probabilities: tuple[float, ...]", "model_version: int"):
        assert field in decisions, field
    (logged,) = re.findall(r"\bLoggedDecision\((.*?)\n\)", decisions, flags=re.DOTALL)
    assert {"decision_id", "context", "action", "feedback"} <= set(re.findall(r"(\w+):", logged))
    evaluation = text_of(site / "reference" / "evaluation.html")
    (fields,) = re.findall(r"\bEvaluation\(\n(.*?)\n\)", evaluation, flags=re.DOTALL)
    assert "estimates" in fields
    assert "bandit(n_actions: int)" in text_of(site / "reference" / "graphs.html")


def test_pages_have_a_version_and_neighbours_and_notes_are_listed_once(site):
    page = (site / "how-to" / "files.html").read_text(encoding="utf-8")
    assert re.search(r"<title>[^<]*graphcb \d+\.\d+\.\d+", page)
    assert "md-footer__link--prev" in page
    assert "md-footer__link--next" in page
    assert "decisions/0001" not in page
    assert "decisions/0001" in (site / "decisions.html").read_text(encoding="utf-8")
