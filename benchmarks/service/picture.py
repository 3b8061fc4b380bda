"""The page of `graphcb serve --demo` as pictures.

    python benchmarks/service/picture.py docs/images/service-page.png

Starts the demo on a free port, lets it run for two minutes, and takes a picture of the page in
Chromium. With --all, pictures of the dark page and of a phone's are put beside it.
"""

import argparse
import hashlib
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Literal

from graphcb import service

PAGE = sorted((Path(service.__file__).parent / "page").iterdir())
SCHEMES: dict[str, Literal["light", "dark"]] = {"": "light", "-dark": "dark", "-phone": "light"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path, help="the picture (PNG)")
    parser.add_argument("--seconds", type=float, default=120.0, help="how long the demo runs")
    parser.add_argument("--all", action="store_true", help="dark and phone too")
    parser.add_argument("--address", help="of a demo that runs already")
    options = parser.parse_args()
    if options.address:
        take(options.address, options.file, every=options.all)
        return
    command = [sys.executable, "-m", "graphcb", "serve", "--demo", "--port", "0", "--seed", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as demo:
        try:
            found = None
            while found is None and demo.stdout is not None:
                found = re.search(r"open (http://\S+) ", demo.stdout.readline())
            time.sleep(options.seconds)
            take("" if found is None else found[1], options.file, every=options.all)
        finally:
            demo.terminate()


def take(address: str, file: Path, *, every: bool) -> None:
    """Pictures of the page as it is now."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        for name, scheme in SCHEMES.items():
            if name and not every:
                continue
            width, height = (390, 844) if name == "-phone" else (1180, 1130)
            page = browser.new_page(
                viewport={"width": width, "height": height}, color_scheme=scheme
            )
            page.goto(address)
            page.wait_for_selector("#curve canvas", timeout=120_000.0)
            page.wait_for_timeout(4000.0)
            while page.inner_text("#state") != "live":  # it still reads the log
                page.wait_for_timeout(500.0)
            path = file.with_stem(file.stem + name)
            page.screenshot(path=path, full_page=bool(name))
            _sign(path)
        browser.close()


def page_digest() -> str:
    """A name for the files of the page: it changes if a picture is older than they are."""
    hashed = hashlib.sha256()
    for path in PAGE:
        hashed.update(path.read_bytes())
    return hashed.hexdigest()[:16]


def _sign(path: Path) -> None:
    """Write into the picture of which files it is, as pictures of curves say it."""
    from PIL import Image, PngImagePlugin

    about = PngImagePlugin.PngInfo()
    about.add_text("Source", page_digest())
    with Image.open(path) as picture:
        picture.load()
    picture.save(path, pnginfo=about, optimize=True)


if __name__ == "__main__":
    main()
