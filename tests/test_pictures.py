"""Pictures of the documentation are not older than the code that draws them.

A command that draws one writes the digest of its files into it; here are the same files.
"""

import sys
from pathlib import Path

import pytest
from PIL import Image

from graphcb.figures.lines import source_digest

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "benchmarks"), str(ROOT / "benchmarks" / "service")]
import picture  # noqa: E402
import pictures  # noqa: E402

DRAWN = {
    name: one.scripts
    for one in pictures.ALL.values()
    for name in one.pictures
    if name != "service-page"
}


def test_every_picture_is_known():
    images = pictures.IMAGES
    found = {str(path.relative_to(images).with_suffix("")) for path in images.rglob("*.png")}
    assert found == {*DRAWN, "service-page"}


@pytest.mark.parametrize("name", DRAWN)
def test_a_picture_was_drawn_by_this_code(name):
    scripts = [ROOT / script for script in DRAWN[name]]
    with Image.open(pictures.IMAGES / f"{name}.png") as image:
        assert image.text.get("Source") == source_digest(scripts)


def test_the_picture_of_the_service_is_of_the_page_as_it_is():
    with Image.open(pictures.IMAGES / "service-page.png") as image:
        assert image.text["Source"] == picture.page_digest()


def test_what_draws_a_picture_exists():
    named = [word for one in pictures.ALL.values() for word in (*one.command, *one.scripts)]
    scripts = {word for word in named if word.endswith(".py")}
    assert len(scripts) > 10
    assert [script for script in scripts if not (ROOT / script).exists()] == []
    program, command = pictures._of_the_page()
    assert "shop.csv" in program[1]
    assert "rules.png" in command
