"""A running service, and how to call it: in this process, or over HTTP where that matters."""

import asyncio
import contextlib
import http.client
import json
import secrets
import threading
from email.message import Message
from urllib.parse import urlsplit

import pytest

from graphcb import Policy, Problem
from graphcb.decisions import Version, Versions

FRAUD = Problem(
    ["approve", "review"],
    reveals={"all": ["review"], "own": True},
    feedback="rewards",
    range=(-50.0, 20.0),
    features={"amount": "number", "country": "category?"},
    name="fraud review",
)
ITEMS = Problem("each round", feedback="rewards")
SECONDS = 120.0  # for anything to happen; kernels may have to be compiled


def only(problem, *, informed=True):
    """The versions of a log that has had one problem."""
    return Versions([Version(1, 0, 0.0, problem, "", informed)])


class Client:
    """Calls of a service by `ask`, which a class below has."""

    def call(self, method, path, content=None, headers=None):
        """The status and the body of an answer, which is read as JSON."""
        status, _, body = self.ask(method, path, content, headers)
        return status, json.loads(body) if body else None


def as_body(content, headers):
    """The body and the headers of a request."""
    kind = {} if content is None else {"Content-Type": "application/json"}
    is_ready = content is None or isinstance(content, bytes)
    return content if is_ready else json.dumps(content).encode(), {**kind, **(headers or {})}


class InProcess(Client):
    """A service without a socket, on an event loop of its own: quick to start and to stop."""

    def __init__(self, service):
        from graphcb.service.watcher import Viewer

        self.service = service
        if hasattr(service, "watcher"):  # one of many problems has its own
            service.watcher.start = Viewer  # which needs no time to start
        self._loop, self._events = asyncio.new_event_loop(), asyncio.Queue()
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._thread.start()
        self._started = threading.Event()
        self._life = self._run(service({"type": "lifespan"}, self._events.get, self._note))
        self._send("startup")
        assert self._started.wait(SECONDS)

    def ask(self, method, path, content=None, headers=None):
        body, headers = as_body(content, headers)
        return self._run(self._ask(method, path, body or b"", headers)).result(SECONDS)

    def stop(self):
        if self._thread.is_alive():
            self._send("shutdown")
            self._life.result(SECONDS)
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(SECONDS)
            self._loop.close()

    def _run(self, work):
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def _send(self, event):
        message = {"type": f"lifespan.{event}"}
        self._loop.call_soon_threadsafe(self._events.put_nowait, message)

    async def _note(self, message):
        self._started.set()

    async def _ask(self, method, path, body, headers):
        sent = []

        async def receive():
            return {"type": "http.request", "body": body, "more_body": False}

        async def send(message):
            sent.append(message)

        given = {"host": "localhost"} | {name.lower(): text for name, text in headers.items()}
        await self.service(
            {
                "type": "http", "method": method, "raw_path": path.encode("ascii"),
                "headers": [(name.encode(), text.encode()) for name, text in given.items()],
            },
            receive, send,
        )  # fmt: skip
        answered = Message()
        for name, text in sent[0]["headers"]:
            answered[name.decode()] = text.decode()
        return sent[0]["status"], answered, sent[1]["body"]


class Running(Client):
    """A service on a free port of this machine, in a thread of its own."""

    def __init__(self, service):
        from graphcb.service.server import address_of, listen, new_server, run

        self.service = service
        self._listener = listen("127.0.0.1", 0)
        self.address = address_of(self._listener)
        self._server = new_server(service)
        self._thread = threading.Thread(target=run, args=(self._server, self._listener))
        self._thread.start()

    def connect(self, timeout=SECONDS):
        return http.client.HTTPConnection(urlsplit(self.address).netloc, timeout=timeout)

    def ask(self, method, path, content=None, headers=None):
        with contextlib.closing(self.connect()) as connection:
            connection.request(method, path, *as_body(content, headers))
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read()

    def stop(self):
        self._server.should_exit = True
        self._thread.join(SECONDS)
        assert not self._thread.is_alive()
        self._listener.close()


@pytest.fixture
def start(tmp_path):
    """A function that starts a service for a problem; all are stopped at the end."""
    with contextlib.ExitStack() as stack:
        yield lambda *given, **settings: _begin(stack, InProcess, tmp_path, *given, **settings)


@pytest.fixture
def serve(tmp_path):
    """As `start`, but over HTTP."""
    with contextlib.ExitStack() as stack:
        yield lambda *given, **settings: _begin(stack, Running, tmp_path, *given, **settings)


def _begin(stack, kind, folder, problem=FRAUD, log="log.db", **settings):
    from graphcb.service.app import Service

    policy = Policy(folder / log, problem=problem, seed=0, durability="process-kill")
    service = Service(policy, **settings)
    running = kind(service)
    stack.callback(running.stop)
    return running


@pytest.fixture
def location(server):
    """The URL of a log that does not exist yet."""
    return server.url(f"s{secrets.token_hex(6)}")
