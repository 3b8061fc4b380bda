"""The page at /: its own files, and the chart library from its package."""

from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path

from graphcb.service.errors import Refused
from graphcb.service.routing import Call, Content

KINDS = {
    ".html": b"text/html; charset=utf-8",
    ".css": b"text/css; charset=utf-8",
    ".js": b"text/javascript; charset=utf-8",
    ".svg": b"image/svg+xml",
}
FILES = ("page.css", "page.js", "charts.js", "icon.svg")
CHARTS = "dygraph.js"  # the name under which the library is served
SCRIPT = f'<script src="/page/{CHARTS}" defer></script>\n'.encode()

HEADERS = (
    (
        b"content-security-policy",
        b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
        b"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-cache"),
)


async def show_page(call: Call) -> Content:
    """The page; without the chart library it says in place of each chart what is missing."""
    page = _own("index.html")
    if chart_library() is None:
        return page._replace(content=page.content.replace(SCRIPT, b""))
    return page


async def show_file(call: Call) -> Content:
    """A script, a style or a picture of the page."""
    if call.name == CHARTS:
        path = chart_library()
        if path is None:
            raise Refused(
                404, "the package dygraphs is not installed: pip install 'graphcb[serve]'"
            )
        return Content(path.read_bytes(), KINDS[".js"], HEADERS)
    if call.name not in FILES:
        raise Refused(404, "the page has no such file")
    return _own(call.name)


def chart_library() -> Path | None:
    """The JavaScript file of the installed package dygraphs."""
    found = find_spec("dygraphs")
    if found is None or found.origin is None:
        return None
    path = Path(found.origin).parent / "assets" / "dygraph-combined.js"
    return path if path.is_file() else None


def _own(name: str) -> Content:
    content = (files("graphcb.service") / "page" / name).read_bytes()
    return Content(content, KINDS[Path(name).suffix], HEADERS)
