"""Pictures of the documentation are not older than the code that draws them.

A command that draws one writes the digest of its files into it; here are the same files.
"""

import sys
from pathlib import Path

import pytest
from PIL import Image

from graphcb.figures.lines import source_digest

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "benchmarks" / "service")]
import picture  # noqa: E402

IMAGES = ROOT / "docs" / "images"
EXAMPLES = "docs/examples"

STUDIES = "benchmarks/studies"
# By `graphcb reproduce all`, studies, examples with the name of a picture, `benchmarks/alarm.py`
# and `graphcb evaluate` in its how-to, with the files that are read beside the room of figures.
DRAWN = {
    "panels": [],
    "weak-feedback": [],
    "misspecified": [],
    "unknown-graphs": [],
    "auctions": [],
    "limits": [f"{STUDIES}/limits/figure.py"],
    "limits-baseline": [f"{STUDIES}/limits/figure.py"],
    "routing": [f"{STUDIES}/routing.py"],
    "rules": [],
    "when-the-world-changes": ["benchmarks/alarm.py"],
    "tutorials/llm_cascade": [f"{EXAMPLES}/llm_cascade.py"],
    "tutorials/prices": [f"{EXAMPLES}/contest.py", f"{EXAMPLES}/prices.py"],
    "tutorials/spam_review-loans": [f"{EXAMPLES}/spam_review.py"],
    "tutorials/spam_review-messages": [f"{EXAMPLES}/spam_review.py"],
    "tutorials/stock_levels": [f"{EXAMPLES}/stock_levels.py"],
    "tutorials/text_routing": [f"{EXAMPLES}/contest.py", f"{EXAMPLES}/text_routing.py"],
}
# Drawn by older code: each leaves this list when its command is run again, which takes minutes.
WAITING = {"limits", "limits-baseline", "routing"}


def test_every_picture_is_known():
    pictures = {str(path.relative_to(IMAGES).with_suffix("")) for path in IMAGES.rglob("*.png")}
    assert pictures == {*DRAWN, "service-page"}


@pytest.mark.parametrize("name", DRAWN)
def test_a_picture_was_drawn_by_this_code(name):
    scripts = [ROOT / script for script in DRAWN[name]]
    with Image.open(IMAGES / f"{name}.png") as image:
        is_new = image.text.get("Source") == source_digest(scripts)
    assert is_new == (name not in WAITING)


def test_the_picture_of_the_service_is_of_the_page_as_it_is():
    with Image.open(IMAGES / "service-page.png") as image:
        assert image.text["Source"] == picture.page_digest()
