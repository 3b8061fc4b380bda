"""Keys of clients: 256 random bits each, of which a file holds only the SHA-256 digest."""

import hashlib
import hmac
import os
import secrets
import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import msgspec

from graphcb.checks import as_one_of, listed
from graphcb.files import FileError, atomic_write
from graphcb.problems.names import as_name
from graphcb.service.errors import LOGGER

SCOPES = ("decide", "graphs", "feedback", "read", "admin")
LOOK_EVERY = 1.0  # seconds between two checks of the file


@dataclass(frozen=True)
class ClientKey:
    """A client's key; `sha256` is the digest of its secret in hexadecimal digits.

    The scope "admin" includes the others; "graphs" is for rounds that bring their own graph.
    """

    name: str
    sha256: str
    scopes: tuple[str, ...]
    created_at: float

    def allows(self, scope: str) -> bool:
        """Whether the key has this scope."""
        return scope in self.scopes or "admin" in self.scopes


class _Content(msgspec.Struct, forbid_unknown_fields=True):
    format: int
    keys: list[ClientKey]


class Keys:
    """The keys in a file, which is checked for changes while the service runs.

    >>> import tempfile
    >>> keys = Keys(Path(tempfile.mkdtemp()) / "keys.json")
    >>> secret = keys.add("shop", ["decide", "feedback"])
    >>> keys.find(secret).name, keys.find("a guess")
    ('shop', None)
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._keys: tuple[ClientKey, ...] = ()
        self._seen: tuple[int, int] | None = None
        self._looked = 0.0
        if self.path.exists():
            self._read()

    def __iter__(self) -> Iterator[ClientKey]:
        return iter(self._keys)

    def __len__(self) -> int:
        return len(self._keys)

    def find(self, secret: str) -> ClientKey | None:
        """The key with this secret, compared in constant time."""
        self._look_again()
        digest = _digest(secret)
        found = None
        for key in self._keys:
            if hmac.compare_digest(digest, key.sha256):
                found = key
        return found

    def allow(self, name: str, scope: str) -> bool:
        """Whether a client's key has this scope."""
        return any(key.allows(scope) for key in self._keys if key.name == name)

    def add(self, name: str, scopes: Iterable[str]) -> str:
        """A new key; this call alone returns its secret."""
        as_name("name", name)
        allowed = tuple(dict.fromkeys(as_one_of("scopes", scope, SCOPES) for scope in scopes))
        if not allowed:
            raise ValueError(f"`scopes` must be some of {listed(SCOPES)}, got none")
        if any(key.name == name for key in self._keys):
            raise ValueError(f"`name` must be new, got {name!r}, which has a key; remove it first")
        secret = secrets.token_urlsafe(32)
        self._write((*self._keys, ClientKey(name, _digest(secret), allowed, time.time())))
        return secret

    def remove(self, name: str) -> None:
        """Remove a client's key; a running service notices within a second."""
        as_one_of("name", name, [key.name for key in self._keys])
        self._write(tuple(key for key in self._keys if key.name != name))

    def _write(self, keys: tuple[ClientKey, ...]) -> None:
        if not self.path.exists():  # as atomic_write keeps the mode of what it replaces
            os.close(os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        content = {"format": 1, "keys": [asdict(key) for key in keys]}
        with atomic_write(self.path) as file:
            file.write(msgspec.json.format(msgspec.json.encode(content), indent=2) + b"\n")
        self._read()

    def _read(self) -> None:
        state = self.path.stat()
        text = self.path.read_bytes()
        try:
            content = msgspec.json.decode(text, type=_Content) if text else _Content(1, [])
        except msgspec.DecodeError as problem:
            raise FileError(
                f"{self.path}: must hold keys as graphcb writes them: {problem}"
            ) from None
        if content.format != 1:
            raise FileError(f"{self.path}: must have format 1, got {content.format}")
        self._keys, self._seen = tuple(content.keys), (state.st_mtime_ns, state.st_ino)

    def _look_again(self) -> None:
        now = time.monotonic()
        if now - self._looked < LOOK_EVERY:
            return
        self._looked = now
        try:
            state = self.path.stat()
            if (state.st_mtime_ns, state.st_ino) != self._seen:
                self._read()
        except FileNotFoundError:
            if self._keys:
                LOGGER.error("%s: the file of keys is gone, and all keys with it", self.path)
            self._keys, self._seen = (), None
        except (OSError, FileError) as problem:
            LOGGER.error("the keys stay as they were: %s", problem)


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode(errors="replace")).hexdigest()
