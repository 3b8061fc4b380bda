"""The page in a real browser: Chromium from the system's packages, driven by Playwright."""

import re
import shutil
import time
from urllib.parse import urlsplit

import pytest

pytest.importorskip("msgspec", reason="needs the extra `serve`")
pytest.importorskip("uvicorn", reason="needs the extra `serve`")
pytest.importorskip("prometheus_client", reason="needs the extra `serve`")
pytest.importorskip("dygraphs", reason="needs the extra `serve`")
pytest.importorskip("playwright.sync_api", reason="needs playwright")

from playwright.sync_api import sync_playwright

from graphcb import Problem
from graphcb.service import pages
from graphcb.service.demo import PROBLEM, Simulator
from graphcb.service.keys import Keys

from .conftest import FRAUD

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium"),
]


@pytest.fixture(scope="module")
def browser():
    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


class Watched:
    """A page, with all that it wrote to the console and all that it asked for."""

    def __init__(self, browser, address, **settings):
        self.said, self.hosts, self.failed = [], set(), []
        self.page = browser.new_page(**settings)
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("request", lambda request: self.hosts.add(urlsplit(request.url).netloc))
        self.page.on("requestfailed", lambda request: self.failed.append(request.url))
        self.page.goto(address)

    def text(self, name):
        return self.page.inner_text(f"#{name}")

    def wait(self, script):
        """Until it is true; Playwright's own waiting needs eval, which the page forbids."""
        deadline = time.monotonic() + 60.0
        while not self.page.evaluate(script):
            assert time.monotonic() < deadline, script
            self.page.wait_for_timeout(50.0)


@pytest.fixture
def demo(serve):
    service = serve(PROBLEM)
    simulator = Simulator(service.address, per_second=200.0)
    simulator.start()
    yield service
    simulator.stop()


@pytest.mark.parametrize(
    ("scheme", "width"), [("light", 1180), ("dark", 1180), ("light", 360)],
    ids=["light", "dark", "phone"],
)  # fmt: skip
def test_the_page_is_alive(demo, browser, tmp_path, scheme, width):
    size = {"width": width, "height": 900}
    watched = Watched(browser, demo.address, viewport=size, color_scheme=scheme)
    watched.wait("document.querySelectorAll('#curve canvas').length > 0")
    before = int(watched.text("decisions").replace(",", ""))
    while int(watched.text("decisions").replace(",", "")) == before:
        watched.page.wait_for_timeout(100.0)
    watched.wait("document.getElementById('policy').textContent.startsWith('0.')")
    assert watched.text("name") == "demo: spam review"
    watched.wait("document.getElementById('state').textContent === 'live'")  # it has caught up
    assert watched.text("policy-title") == "Mean loss"
    assert watched.text("baseline-title") == "Gain on the baseline, review"
    assert [row.split("\t")[0] for row in watched.text("actions").splitlines()[-3:]] == [
        "deliver", "block", "review",
    ]  # fmt: skip
    assert watched.text("rules").count("held") >= 3
    assert "yes" in watched.text("graph")
    assert "feedback" in watched.text("requests")
    drawn = watched.page.evaluate(
        "[...document.querySelectorAll('.chart')].map(x => x.querySelectorAll('canvas').length)"
    )
    assert all(count > 0 for count in drawn)
    assert len(drawn) == 3
    wide = watched.page.evaluate("document.documentElement.scrollWidth")
    assert wide <= width  # nothing sticks out on a phone
    cut = "[...document.querySelectorAll('main .scroll:not(details *)')]"
    wider = "some(x => x.scrollWidth > x.clientWidth)"
    assert not watched.page.evaluate(f"{cut}.{wider}")  # nor has to be scrolled
    picture = tmp_path / "page.png"
    watched.page.screenshot(path=picture, full_page=True)
    assert picture.stat().st_size > 20_000
    ground = watched.page.evaluate("getComputedStyle(document.body).backgroundColor")
    light = sum(map(int, re.findall(r"\d+", ground)[:3])) > 3 * 128
    assert light is (scheme == "light")
    assert watched.said == []
    assert watched.failed == []
    assert watched.hosts == {urlsplit(demo.address).netloc}
    watched.page.close()


def test_versions_and_what_the_numbers_are_about(demo, browser):
    watched = Watched(browser, demo.address, viewport={"width": 360, "height": 900})
    watched.wait("document.querySelectorAll('#curve canvas').length > 0")
    assert not watched.page.is_visible("#since")
    changed = PROBLEM.to_toml().replace("review = 0.1", "review = 0.3")
    sent = {"toml": changed, "note": "the team has grown"}
    assert demo.call("POST", "/v1/problem", sent)[0] == 200
    watched.wait("document.getElementById('since').textContent.startsWith('Since version 2,')")
    assert watched.text("since").endswith("(the team has grown)")
    watched.wait("document.getElementById('policy').textContent.startsWith('0.')")
    lines = watched.page.evaluate(
        "[...document.querySelectorAll('#versions tbody tr')].map(x => "
        "[...x.children].map(y => y.textContent))"
    )
    assert [line[0] for line in lines] == ["2 now", "1"]
    assert lines[0][1].endswith(": the team has grown")
    assert all(re.fullmatch(r"[\d.]+ \([\d.]+\xa0to\xa0[\d.]+\)", line[3]) for line in lines)
    assert "probability of review at least 0.3" in watched.text("rules")
    assert watched.page.evaluate("document.documentElement.scrollWidth") <= 360
    assert watched.said == []
    watched.page.close()


def test_the_curve_of_an_old_version_is_not_drawn(demo, browser):
    watched = Watched(browser, demo.address)
    watched.wait("document.querySelectorAll('#curve canvas').length > 0")
    watched.wait(  # a time of day; for the first second or so it has fractions
        "[...document.querySelectorAll('#curve .dygraph-axis-label-x')]"
        r".some(x => /^\d\d:\d\d(:\d\d)?$/.test(x.textContent))"
    )
    hidden = Problem(["deliver", "block", "review"], reveals="unknown")
    other = Problem(["deliver", "block", "review"], range=(0.0, 9.0))  # of which nothing is settled
    for problem in (hidden, other):
        assert demo.call("POST", "/v1/problem", {"toml": problem.to_toml()})[0] == 200
    watched.wait("document.getElementById('since').textContent.startsWith('Since version 3,')")
    watched.wait("document.getElementById('policy').textContent === 'not known'")
    assert watched.page.evaluate("document.querySelectorAll('#curve canvas').length") == 0
    watched.page.close()


def test_a_gain_by_exploring_is_not_a_negative_cost(serve, browser):
    watched = Watched(browser, serve().address)
    watched.wait("document.getElementById('state').textContent === 'live'")
    for low, mean, high, said in (
        (-0.3, -0.2, -0.1, ["gain per decision", "0.200 loss", "interval of the gain",
                            "+0.100\xa0to\xa0+0.300"]),
        (-0.1, 0.1, 0.3, ["cost per decision", "0.100 loss", "interval of the cost",
                          "\u2212" "0.100\xa0to\xa0+0.300: may be none"]),
    ):  # fmt: skip
        found = watched.page.evaluate(
            "(c) => { scale = 3; return cost(c, '', 'loss').flat(); }",
            {"lower": low, "mean": mean, "upper": high},
        )
        assert found == said
    watched.page.close()


def test_without_the_chart_library_there_are_words(demo, browser, monkeypatch):
    monkeypatch.setattr(pages, "find_spec", lambda name: None)  # as if it were not installed
    watched = Watched(browser, demo.address)
    watched.wait("document.querySelectorAll('#curve-table tbody tr').length > 1")
    for chart in ("curve", "shares", "explored"):
        assert watched.text(chart).startswith("Charts need the Python package dygraphs")
        assert watched.page.get_attribute(f"#{chart}", "role") is None  # not a picture
    assert watched.page.is_visible("#curve-table")
    assert watched.page.is_visible("#explored-table")
    watched.wait("document.getElementById('state').textContent === 'live'")  # it has caught up
    assert (watched.said, watched.failed) == ([], [])
    watched.page.close()


def test_where_nothing_is_estimated_the_page_says_why(serve, browser):
    service = serve(Problem(["a", "b"], reveals="unknown"))
    for _ in range(30):
        made = service.call("POST", "/v1/decisions", {"context": {"x": 1.0}})[1]
        path = f"/v1/decisions/{made['decision_id']}/feedback"
        service.call("POST", path, {"losses": {made["action"]: 0.5}})
    watched = Watched(browser, service.address, viewport={"width": 360, "height": 900})
    watched.wait("document.getElementById('decisions').textContent === '30'")
    assert "graphcb log summary LOG" in watched.text("notice")
    assert not watched.page.is_visible("#curve-card")
    for tile in ("policy", "baseline", "best"):
        assert not re.search(r"\d", watched.text(tile))
        assert watched.text(f"{tile}-interval") == "not estimated"
    assert "not estimated" in watched.text("exploration")
    assert "not estimated" in watched.text("versions")
    means = "[...document.querySelectorAll('#actions td:last-child')].map(x => x.textContent)"
    assert not any(re.search(r"\d", mean) for mean in watched.page.evaluate(means))
    assert "may" in watched.text("graph")
    assert watched.page.evaluate("document.documentElement.scrollWidth") <= 360
    assert watched.said == []
    watched.page.close()


def test_charts_have_tables_and_everything_has_a_name(demo, browser):
    watched = Watched(browser, demo.address)
    watched.wait("document.querySelectorAll('#curve-table tbody tr').length > 1")
    evaluate = watched.page.evaluate
    for chart in ("curve", "shares", "explored"):
        labels = evaluate(
            f"['aria-labelledby', 'aria-describedby'].map(a => document.getElementById("
            f"document.getElementById('{chart}').getAttribute(a)).textContent)"
        )
        assert all(labels)
    assert evaluate("document.querySelectorAll('table:not(:has(caption))').length") == 0
    assert evaluate("document.querySelectorAll('th:not([scope])').length") == 0
    assert evaluate("document.documentElement.lang") == "en"
    assert evaluate("[...document.querySelectorAll('h2')].every(x => x.textContent)")
    assert watched.said == []
    watched.page.close()


LUMINANCE = """
(names) => {
  const css = getComputedStyle(document.documentElement);
  const light = (hex) => {
    const parts = [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16) / 255);
    const linear = parts.map((c) => (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
  };
  return names.map((name) => light(css.getPropertyValue(name).trim()));
}
"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_texts_and_lines_stand_out_from_their_ground(serve, browser, scheme):
    watched = Watched(browser, serve().address, color_scheme=scheme)
    texts = ["--ink", "--soft", "--policy", "--good", "--bad", "--baseline", "--best"]
    lines = [f"--a{n}" for n in range(8)]
    found = watched.page.evaluate(LUMINANCE, ["--card", "--ground", *texts, *lines])
    card, ground, *rest = found
    for name, one in zip([*texts, *lines], rest, strict=True):
        for behind in (card, ground) if name in texts else (card,):
            contrast = (max(one, behind) + 0.05) / (min(one, behind) + 0.05)
            assert contrast >= (4.5 if name in texts else 3.0), (name, contrast)
    watched.page.close()


def test_a_service_with_keys_is_asked_with_one(serve, browser, tmp_path):
    keys = Keys(tmp_path / "keys.json")
    right, wrong = keys.add("page", ["read"]), keys.add("shop", ["decide"])
    service = serve(FRAUD, keys=keys)
    watched = Watched(browser, service.address)
    watched.page.wait_for_selector("#ask:visible")
    assert watched.text("state") == "a key is needed"
    watched.page.fill("#key", wrong)
    watched.page.click("#ask button")
    watched.wait("document.getElementById('ask-error').textContent.includes('scope')")
    watched.page.fill("#key", right)
    watched.page.press("#key", "Enter")
    watched.page.wait_for_selector("#main:visible")
    assert watched.text("name") == "fraud review"
    assert not watched.page.is_visible("#ask")
    watched.page.reload()  # the key is remembered until the window is closed
    watched.page.wait_for_selector("#main:visible")
    assert watched.hosts == {urlsplit(service.address).netloc}
    assert all("401" in text or "403" in text for text in watched.said)  # the browser's own words
    watched.page.close()


def test_the_page_says_when_the_service_is_gone(serve, browser):
    service = serve()
    watched = Watched(browser, service.address)
    watched.wait("document.getElementById('state').textContent === 'live'")
    watched.page.route("**/v1/live", lambda route: route.abort())
    watched.wait("document.getElementById('state').textContent === 'the service does not answer'")
    watched.page.unroute("**/v1/live")
    watched.wait("document.getElementById('state').textContent === 'live'")
    watched.page.close()


@pytest.mark.parametrize("how", ["is frozen", "has a proxy that fails"])
def test_the_page_says_when_no_answer_comes_and_goes_on(serve, browser, how):
    service = serve()
    watched = Watched(browser, service.address)
    watched.wait("document.getElementById('state').textContent === 'live'")
    html = {"status": 502, "content_type": "text/html", "body": "<h1>Bad gateway</h1>"}
    hang = lambda route: None if how == "is frozen" else route.fulfill(**html)  # noqa: E731
    watched.page.route("**/v1/live", hang)
    watched.wait("document.getElementById('state').textContent === 'the service does not answer'")
    watched.page.unroute("**/v1/live")
    watched.wait("document.getElementById('state').textContent === 'live'")
    watched.page.close()


def test_a_decision_is_explained_on_the_page(serve, browser):
    service = serve(FRAUD)
    for n in range(5):
        made = service.call("POST", "/v1/decisions", {"context": {"amount": 10.0 * n}})[1]
    watched = Watched(browser, service.address)
    watched.wait("!document.getElementById('main').hidden")
    for name, expected in ((made["decision_id"], "expected reward"), ("nothing", "must be one")):
        watched.page.fill("#why-id", name)
        watched.page.click("#why button")
        watched.wait(f"document.getElementById('why-text').textContent.includes('{expected}')")
    watched.page.close()
