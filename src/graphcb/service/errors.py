"""Errors as clients see them: a status, a code and a message."""

import logging
import traceback
from typing import Any

import msgspec

from graphcb.decisions import LogError, StaleSnapshot
from graphcb.files import FileError

LOGGER = logging.getLogger("graphcb.service")

CODES = {
    400: "bad_request",
    401: "unauthorized",
    403: "forbidden",
    404: "not_found",
    405: "method_not_allowed",
    408: "timeout",
    413: "too_large",
    415: "unsupported_media_type",
    429: "too_many_requests",
    500: "failed",
    503: "unavailable",
}
# As Personalizer published them, where it did.
PERSONALIZER_CODES = {
    **dict.fromkeys(CODES, "BadRequest"),
    401: "Unauthorized",
    403: "Forbidden",
    404: "ResourceNotFound",
    429: "TooManyRequests",
    500: "InternalServerError",
    503: "ServiceUnavailable",
}
RETRY = ((b"retry-after", b"1"),)
CLOSE = ((b"connection", b"close"),)


class Refused(Exception):  # noqa: N818 - what happened to the request
    """A request is refused with this status and this message."""

    def __init__(self, status: int, message: str, headers: tuple[Any, ...] = ()) -> None:
        super().__init__(message)
        self.status, self.message, self.headers = status, message, headers

    def to_json(self, path: bytes = b"") -> bytes:
        """The body of the answer, with Personalizer's codes on its paths."""
        codes = PERSONALIZER_CODES if b"/personalizer/" in path else CODES
        error = {"code": codes[self.status], "message": self.message}
        return msgspec.json.encode({"error": error})


def as_refusal(problem: BaseException, *, at_fault: bool = True) -> Refused:
    """The library's message if the request may be `at_fault`; no internals otherwise."""
    if isinstance(problem, Refused):
        return problem
    if isinstance(problem, msgspec.DecodeError | UnicodeDecodeError):
        return Refused(400, f"the body must be JSON as /openapi.json describes it: {problem}")
    if isinstance(problem, RecursionError):
        return Refused(400, "the body must be JSON that is not nested this deeply")
    if at_fault and is_refusal(problem) and not isinstance(problem, StaleSnapshot):
        return Refused(404 if isinstance(problem, LookupError) else 400, str(problem))
    if isinstance(problem, StaleSnapshot):
        return Refused(503, "the trainer is behind, or there is none; try again", RETRY)
    if isinstance(problem, LogError):
        LOGGER.error("%s", problem)
        return Refused(503, "the log cannot be written at the moment; try again", RETRY)
    if isinstance(problem, FileError):
        LOGGER.error("%s", problem)
        return Refused(500, "the log is damaged or gone; the service's own log says more")
    # Without its message, which may quote what clients sent; the places are enough to find it.
    places = "".join(traceback.format_tb(problem.__traceback__))
    LOGGER.error("a request failed: %s\n%s", type(problem).__name__, places)
    return Refused(500, "the service failed on this request; its own log says why")


def is_refusal(problem: BaseException) -> bool:
    """Whether only this request is refused, and the others in its transaction stay."""
    if isinstance(problem, FileError | KeyError | IndexError):  # the log, or a bug
        return False
    refusals = Refused | ValueError | TypeError | LookupError | RecursionError | StaleSnapshot
    return isinstance(problem, refusals)
