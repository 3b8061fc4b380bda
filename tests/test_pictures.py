"""Pictures of the documentation are not older than the code that draws them."""

from pathlib import Path

import pytest
from PIL import Image

from graphcb.figures.lines import source_digest

ROOT = Path(__file__).parents[1]
IMAGES = ROOT / "docs" / "images"
EXAMPLES = ROOT / "docs" / "examples"

# By `graphcb reproduce all`, studies that are panels, examples with the name of a picture, and
# `benchmarks/alarm.py`.
DRAWN = {
    "panels": [],
    "weak-feedback": [],
    "misspecified": [],
    "unknown-graphs": [],
    "auctions": [],
    "when-the-world-changes": ["../../benchmarks/alarm"],
    "tutorials/llm_cascade": ["llm_cascade"],
    "tutorials/prices": ["contest", "prices"],
    "tutorials/spam_review-loans": ["spam_review"],
    "tutorials/spam_review-messages": ["spam_review"],
    "tutorials/stock_levels": ["stock_levels"],
    "tutorials/text_routing": ["contest", "text_routing"],
}
# By studies, benchmarks, `graphcb evaluate` and a browser, which this test does not follow.
OTHERS = {
    "limits",
    "limits-baseline",
    "routing",
    "rules",
    "service-page",
}


def test_every_picture_is_known():
    pictures = {str(path.relative_to(IMAGES).with_suffix("")) for path in IMAGES.rglob("*.png")}
    assert pictures == set(DRAWN) | OTHERS


@pytest.mark.parametrize("name", DRAWN)
def test_a_picture_was_drawn_by_this_code(name):
    scripts = [EXAMPLES / f"{script}.py" for script in DRAWN[name]]
    with Image.open(IMAGES / f"{name}.png") as picture:
        assert picture.text["Source"] == source_digest(scripts)
