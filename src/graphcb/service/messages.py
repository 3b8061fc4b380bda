"""The service's own messages, as text or as JSON lines with time, level and request."""

import logging
import secrets
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Literal

import msgspec

from graphcb.compilation import watch
from graphcb.service.errors import LOGGER

MOST_CHARACTERS = 128  # of a request's ID
_SAID = {"format": "text"}  # how `say` prints
REQUEST: ContextVar[Any] = ContextVar("request", default=None)  # its scope


@contextmanager
def printing(format: Literal["text", "json"]) -> Iterator[None]:
    """Print log messages of this package and its server to stderr, and those of `say` to stdout."""
    handler = logging.StreamHandler()
    handler.setFormatter(_Json() if format == "json" else logging.Formatter("%(message)s"))
    loggers = [logging.getLogger(name) for name in (LOGGER.name, "uvicorn", "asyncio")]
    before = [(logger.handlers, logger.propagate) for logger in loggers]
    for logger in loggers:
        logger.handlers, logger.propagate = [handler], False
    warned, announced = warnings.showwarning, watch.announce
    warnings.showwarning = lambda message, *_, **__: LOGGER.warning("%s", message)
    watch.announce = LOGGER.warning
    _SAID["format"] = format
    try:
        yield
    finally:
        _SAID["format"] = "text"
        warnings.showwarning, watch.announce = warned, announced
        for logger, (handlers, propagates) in zip(loggers, before, strict=True):
            logger.handlers, logger.propagate = handlers, propagates


def say(text: str) -> None:
    """Print a message for whoever started the service."""
    if _SAID["format"] == "json":
        record = logging.makeLogRecord({"levelname": "INFO", "msg": text})
        print(_Json().format(record), flush=True)
    else:
        print(f"graphcb: {text}", flush=True)


def request_id() -> str | None:
    """The ID of the request that is being answered: the client's own, or one that is made up."""
    scope = REQUEST.get()
    if scope is None:
        return None
    if "graphcb.request_id" not in scope:
        given = dict(scope["headers"]).get(b"x-request-id", b"").decode("latin-1")
        is_fit = 0 < len(given) <= MOST_CHARACTERS and given.isprintable()
        scope["graphcb.request_id"] = given if is_fit else secrets.token_hex(8)
    found: str = scope["graphcb.request_id"]
    return found


class _Json(logging.Formatter):
    """One JSON object per line."""

    def format(self, record: logging.LogRecord) -> str:
        seconds = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        line = {
            "time": f"{seconds}.{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "message": record.getMessage(),
        }
        request = request_id()
        if request is not None:
            line["request_id"] = request
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return msgspec.json.encode(line).decode()
