"""What the service uses of uvicorn, whose private parts may move with any version."""

import contextlib
import inspect
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

pytest.importorskip("uvicorn", reason="needs the extra `serve`")
pytest.importorskip("msgspec", reason="needs the extra `serve`")

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from graphcb.service.server import FILES, Connection, check_address, new_server

PYPROJECT = Path(__file__).parents[2] / "pyproject.toml"
OVERRIDDEN = {  # by `Connection`, with the parameters that uvicorn gives them
    "connection_made": ["self", "transport"],
    "connection_lost": ["self", "exc"],
    "data_received": ["self", "data"],
    "on_message_begin": ["self"],
    "on_headers_complete": ["self"],
    "on_header": ["self", "name", "value"],
    "pause_writing": ["self"],
    "resume_writing": ["self"],
}


@pytest.mark.parametrize("name", OVERRIDDEN)
def test_the_protocol_still_calls_what_is_overridden(name):
    theirs = getattr(HttpToolsProtocol, name, None)
    assert theirs is not None, f"uvicorn {uvicorn.__version__} has no HttpToolsProtocol.{name}"
    assert list(inspect.signature(theirs).parameters) == OVERRIDDEN[name]


def test_every_method_that_is_overridden_is_listed_here():
    public = {name for name in vars(Connection) if not name.startswith("_")} - {"is_idle"}
    assert public == set(OVERRIDDEN)


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        (HttpToolsProtocol, "timeout_keep_alive_handler"),
        (uvicorn.Server, "capture_signals"),
        (uvicorn.Server, "serve"),
        (uvicorn.Config, "get_loop_factory"),
    ],
)
def test_what_is_called_or_replaced_is_still_there(kind, name):
    part = getattr(kind, name, None)
    where = f"uvicorn {uvicorn.__version__}: {kind.__name__}.{name}"
    assert callable(part), f"{where} is gone; service/server.py uses it"
    assert list(inspect.signature(part).parameters)[:1] == ["self"], where


def test_signals_are_left_to_the_service():
    server = new_server(lambda scope, receive, send: None)
    assert "self.capture_signals()" in inspect.getsource(uvicorn.Server.serve)
    assert isinstance(server.capture_signals(), contextlib.nullcontext)
    assert (server.should_exit, server.force_exit) == (False, False)


def test_uvicorn_is_bounded_from_above():
    extras = tomllib.loads(PYPROJECT.read_text("utf-8"))["project"]["optional-dependencies"]
    (needed,) = [one for one in extras["serve"] if one.startswith("uvicorn")]
    least, most = needed.removeprefix("uvicorn>=").split(",<")

    def key(version):
        return tuple(map(int, version.split(".")))

    assert key(least) <= key(uvicorn.__version__) < key(most)


def test_collections_spare_what_is_there_from_the_start_and_what_waits():
    code = """
import gc
from graphcb.service.server import spare_collections
kept = [[k] for k in range(1000)]
spare_collections()
print(gc.get_freeze_count(), len(gc.get_objects()))
before = gc.get_stats()[0]["collections"]
waiting = [[k] for k in range(5000)]
print(gc.get_stats()[0]["collections"] - before)
"""
    made = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    frozen, left, n_collections = map(int, made.stdout.split())
    assert frozen > 1000
    assert left < 1000
    assert n_collections == 0  # what waits at the same time is no garbage


def test_it_may_open_more_files_than_the_usual_limit():
    """Else the connections of one client take all that many logs have left."""
    resource = pytest.importorskip("resource", reason="Windows has no limit on open files")
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    code = (
        "import resource; from graphcb.service import server; "
        f"resource.setrlimit(resource.RLIMIT_NOFILE, (300, {most})); "
        "server.allow_files(); print(*resource.getrlimit(resource.RLIMIT_NOFILE))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    wanted = FILES if most == resource.RLIM_INFINITY else min(FILES, most)
    assert found.stdout.split() == [str(wanted), str(most)]


def test_beyond_this_machine_keys_are_needed():
    for host in ("127.0.0.1", "localhost", "::1", "127.8.9.10"):
        check_address(host, has_keys=False)
    for host in ("0.0.0.0", "::", "192.168.1.5", "example.com", ""):
        check_address(host, has_keys=True)
        with pytest.raises(ValueError, match="`--host` must be an address of this machine"):
            check_address(host, has_keys=False)


def test_https_with_a_certificate(tmp_path):
    import ssl
    import threading
    import urllib.request

    from graphcb.service.server import address_of, listen, read_tls, run

    async def app(scope, receive, send):
        if scope["type"] == "lifespan":
            for event in ("startup", "shutdown"):
                await receive()
                await send({"type": f"lifespan.{event}.complete"})
            return
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": scope["scheme"].encode()})

    cert, key = _certificate(tmp_path)
    tls = read_tls(cert, key)
    with contextlib.closing(listen("127.0.0.1", 0)) as socket:
        server = new_server(app, tls)
        thread = threading.Thread(target=run, args=(server, socket))
        thread.start()
        try:
            address = address_of(socket, tls)
            assert address.startswith("https://127.0.0.1:")
            context = ssl.create_default_context(cafile=cert)
            with urllib.request.urlopen(address, timeout=60, context=context) as answer:
                assert answer.read() == b"https"
        finally:
            server.should_exit = True
            thread.join(60)


def _certificate(folder):
    """A certificate for 127.0.0.1 that signs itself."""
    import shutil

    if shutil.which("openssl") is None:
        pytest.skip("needs openssl")
    cert, key = folder / "cert.pem", folder / "key.pem"
    command = "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=127.0.0.1 -addext"
    names = ["subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", cert]
    subprocess.run([*command.split(), *names], check=True, capture_output=True)
    return cert, key


def test_a_certificate_needs_its_key(tmp_path):
    from graphcb.service.server import read_tls

    assert read_tls(None, None) is None
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    with pytest.raises(ValueError, match="`--tls-key` must be given too"):
        read_tls(cert, None)
    with pytest.raises(ValueError, match="`--tls-cert` must be given too"):
        read_tls(None, key)
    with pytest.raises(ValueError, match="must be a certificate and its private key, without"):
        read_tls(cert, key)
    cert.write_text("no certificate")
    key.write_text("no key")
    with pytest.raises(ValueError, match="must be a certificate and its private key, without"):
        read_tls(cert, key)
