"""Which function answers a method and a path, and which scope it needs."""

from collections.abc import Awaitable, Callable
from typing import NamedTuple
from urllib.parse import unquote_to_bytes

from graphcb.service.errors import Refused


class Answer(NamedTuple):
    """A status, a body, what kind of body it is, and headers beside these."""

    status: int
    content: bytes
    kind: bytes = b"application/json"
    headers: tuple[tuple[bytes, bytes], ...] = ()


class Call(NamedTuple):
    """What a handler gets: the part of the path that varies, and the body."""

    name: str
    body: bytes


Handler = Callable[[Call], Awaitable[Answer]]


class Route(NamedTuple):
    """A path, of which at most one part varies: {id}. An empty `scope` needs no key."""

    method: str
    path: str
    scope: str
    handler: Handler
    has_body: bool = False


class Routes:
    """Routes by path."""

    def __init__(self, routes: list[Route]) -> None:
        self._fixed: dict[str, dict[str, Route]] = {}
        self._open: dict[tuple[str, str], dict[str, Route]] = {}
        for route in routes:
            before, brace, after = route.path.partition("{")
            if brace:
                key = before, after.partition("}")[2]
                self._open.setdefault(key, {})[route.method] = route
            else:
                self._fixed.setdefault(route.path, {})[route.method] = route

    def find(self, method: str, raw_path: bytes) -> tuple[Route, str]:
        """The route of a request and the part of its path that varies."""
        path = raw_path.decode("latin-1")
        found, name = self._fixed.get(path), ""
        if found is None:
            for (before, after), methods in self._open.items():
                middle = path[len(before) : len(path) - len(after)]
                fits = path.startswith(before) and path.endswith(after) and "/" not in middle
                if fits and middle:
                    found, name = methods, _unquoted(middle)
                    break
        if found is None:
            raise Refused(404, "there is nothing at this path; /openapi.json lists what there is")
        if method not in found:
            allowed = ", ".join(sorted(found))
            headers = ((b"allow", allowed.encode()),)
            raise Refused(405, f"the method must be {allowed} at this path", headers)
        return found[method], name


def _unquoted(text: str) -> str:
    try:
        return unquote_to_bytes(text).decode()
    except UnicodeDecodeError:
        raise Refused(404, "the path must be UTF-8 with percent signs") from None
