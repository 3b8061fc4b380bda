"""A service on a free port of this machine, in a thread of its own."""

import contextlib
import http.client
import json
import threading
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


def only(problem, *, informed=True):
    """The versions of a log that has had one problem."""
    return Versions([Version(1, 0, 0.0, problem, "", informed)])


class Running:
    """A running service, and how to call it."""

    def __init__(self, service):
        from graphcb.service.server import address_of, listen, new_server, run

        self.service = service
        self._listener = listen("127.0.0.1", 0)
        self.address = address_of(self._listener)
        self._server = new_server(service)
        self._thread = threading.Thread(target=run, args=(self._server, self._listener))
        self._thread.start()

    def connect(self, timeout=30.0):
        return http.client.HTTPConnection(urlsplit(self.address).netloc, timeout=timeout)

    def call(self, method, path, content=None, headers=None):
        """The status and the body of an answer, which is read as JSON."""
        status, _, body = self.ask(method, path, content, headers)
        return status, json.loads(body) if body else None

    def ask(self, method, path, content=None, headers=None):
        with contextlib.closing(self.connect()) as connection:
            body = content
            if content is not None and not isinstance(content, bytes):
                body = json.dumps(content)
            kind = {} if content is None else {"Content-Type": "application/json"}
            connection.request(method, path, body, {**kind, **(headers or {})})
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read()

    def stop(self):
        self._server.should_exit = True
        self._thread.join(30.0)
        assert not self._thread.is_alive()
        self._listener.close()


@pytest.fixture
def start(tmp_path):
    """A function that starts a service for a problem; all are stopped at the end."""
    running = []

    def begin(problem=FRAUD, log="log.db", **settings):
        from graphcb.service.app import Service

        policy = Policy(tmp_path / log, problem=problem, seed=0)
        running.append(Running(Service(policy, **settings)))
        return running[-1]

    yield begin
    for one in running:
        one.stop()
