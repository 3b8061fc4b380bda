"""What the service says about itself, as text and as JSON lines."""

import json
import logging
import re
import warnings

import pytest

pytest.importorskip("msgspec", reason="needs the extra `serve`")

from graphcb.compilation import watch
from graphcb.service.errors import LOGGER
from graphcb.service.messages import REQUEST, printing, request_id, say


@pytest.fixture
def asked():
    """A function that says which request is being answered."""
    tokens = []
    yield lambda *headers: tokens.append(REQUEST.set({"headers": list(headers)}))
    for token in reversed(tokens):
        REQUEST.reset(token)


def test_text_is_printed_as_it_is(capsys):
    with printing("text"):
        say("deciding")
        LOGGER.warning("a log of %d events", 3)
    assert capsys.readouterr() == ("graphcb: deciding\n", "a log of 3 events\n")


def test_json_lines_have_time_level_and_the_request(capsys, asked):
    with printing("json"):
        say("deciding")
        asked((b"x-request-id", b"abc-1"))
        LOGGER.error('a "quoted" name\nin two lines')
    out, err = capsys.readouterr()
    (said,), (line,) = ([json.loads(one) for one in text.splitlines()] for text in (out, err))
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", said.pop("time"))
    assert said == {"level": "info", "message": "deciding"}
    assert line.pop("time")
    message = 'a "quoted" name\nin two lines'
    assert line == {"level": "error", "message": message, "request_id": "abc-1"}


def test_what_others_say_is_in_the_same_log(capsys, asked):
    """Warnings of the library, the event loop's messages and that of the compiler."""
    asked((b"x-request-id", b"abc-2"))
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        with printing("json"):
            warnings.warn("a feature", stacklevel=1)
            logging.getLogger("asyncio").error("a task")
            watch.announce("compiling")
    lines = [json.loads(one) for one in capsys.readouterr().err.splitlines()]
    assert [(one["level"], one["message"]) for one in lines] == [
        ("warning", "a feature"),
        ("error", "a task"),
        ("warning", "compiling"),
    ]
    assert {one["request_id"] for one in lines} == {"abc-2"}
    watch.announce("as before")
    assert capsys.readouterr().err == "graphcb: as before\n"


@pytest.mark.parametrize("given", [b"", b"x" * 129, b"two\nlines"])
def test_a_request_without_a_fit_id_gets_one_that_stays(asked, given):
    asked((b"x-request-id", given))
    made = request_id()
    assert re.fullmatch("[0-9a-f]{16}", made)
    assert request_id() == made


def test_a_failed_request_is_told_its_id(start, monkeypatch):
    service = start()
    desk = service.service.desk
    monkeypatch.setattr(desk, "ask", lambda *given, **more: 1 / 0)
    headers = {"X-Request-ID": "mine"}
    status, sent, _ = service.ask("POST", "/v1/decisions", {"context": {"amount": 1}}, headers)
    assert (status, sent["x-request-id"]) == (500, "mine")
    assert service.ask("GET", "/v1/problem", headers=headers)[1]["x-request-id"] is None
