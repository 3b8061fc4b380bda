"""Pictures of the documentation are not older than the code that draws them.

A command that draws one writes the digest of its files into it; here are the same files.
"""

from pathlib import Path

import pytest
from PIL import Image

from graphcb.figures.lines import source_digest

ROOT = Path(__file__).parents[1]
IMAGES = ROOT / "docs" / "images"
EXAMPLES = "docs/examples"

STUDIES = "benchmarks/studies"
PAGE = sorted(str(path.relative_to(ROOT)) for path in (ROOT / "src/graphcb/service/page").iterdir())
# By `graphcb reproduce all`, studies, examples with the name of a picture, `benchmarks/alarm.py`,
# `graphcb evaluate` in its how-to, and `benchmarks/service/picture.py`, with the files that are
# read beside those of the room of figures.
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
    "service-page": [*PAGE, "benchmarks/service/picture.py"],
    "tutorials/llm_cascade": [f"{EXAMPLES}/llm_cascade.py"],
    "tutorials/prices": [f"{EXAMPLES}/contest.py", f"{EXAMPLES}/prices.py"],
    "tutorials/spam_review-loans": [f"{EXAMPLES}/spam_review.py"],
    "tutorials/spam_review-messages": [f"{EXAMPLES}/spam_review.py"],
    "tutorials/stock_levels": [f"{EXAMPLES}/stock_levels.py"],
    "tutorials/text_routing": [f"{EXAMPLES}/contest.py", f"{EXAMPLES}/text_routing.py"],
}


def test_every_picture_is_known():
    pictures = {str(path.relative_to(IMAGES).with_suffix("")) for path in IMAGES.rglob("*.png")}
    assert pictures == set(DRAWN)


@pytest.mark.parametrize("name", DRAWN)
def test_a_picture_was_drawn_by_this_code(name):
    scripts = [ROOT / script for script in DRAWN[name]]
    with Image.open(IMAGES / f"{name}.png") as picture:
        assert picture.text["Source"] == source_digest(scripts)
