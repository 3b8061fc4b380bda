"""Who may come in: keys and their scopes, rates, and no page of a foreign site."""

from collections.abc import Iterable

from graphcb.checks import listed
from graphcb.service.errors import Refused
from graphcb.service.guards import Rates
from graphcb.service.keys import Keys
from graphcb.service.routes import Route

_ASKED = ((b"www-authenticate", b"Bearer"),)
_LOCAL = ("localhost", "127.0.0.1", "[::1]")
_WANTED = frozenset(
    (b"authorization", b"ocp-apim-subscription-key", b"content-type", b"host", b"origin")
)


class Doors:
    """Admits a request or refuses it, from its headers alone.

    Without keys the service is for programs on this machine. A browser on it also runs pages of
    other sites, which may send requests here: these have a foreign Origin, or a Host that is not
    of this machine, or no JSON, and are refused.
    """

    def __init__(self, keys: Keys | None, per_second: float | None) -> None:
        self._keys, self._rates = keys, Rates(per_second)

    def admit(self, headers: Iterable[tuple[bytes, bytes]], route: Route) -> None:
        """Refuse what may not come in."""
        found = {name: value for name, value in headers if name in _WANTED}
        if route.has_body:
            kind = found.get(b"content-type", b"").partition(b";")[0].strip().lower()
            if kind != b"application/json":
                raise Refused(415, "the content type must be application/json")
        origin = found.get(b"origin")
        if origin is not None and origin.partition(b"://")[2] != found.get(b"host"):
            raise Refused(403, "pages of another origin must not call this service")
        client = "this machine"
        if self._keys is None:
            host = found.get(b"host", b"localhost").decode("latin-1")
            if host not in _LOCAL and host.rpartition(":")[0] not in _LOCAL:
                raise Refused(
                    403,
                    f"the host must be one of {listed(_LOCAL)}, as this service has no keys; "
                    "start it with --keys to be called by another name",
                )
        elif route.scope:
            client = _client_of(self._keys, found, route.scope)
        if route.scope:
            self._rates.take(client)


def _client_of(keys: Keys, headers: dict[bytes, bytes], scope: str) -> str:
    """The name of the client whose key this is."""
    shown = headers.get(b"ocp-apim-subscription-key", b"")
    scheme, _, token = headers.get(b"authorization", b"").partition(b" ")
    if scheme.lower() == b"bearer":
        shown = token.strip()
    if not shown:
        text = "a key must be given in the header Authorization: Bearer KEY"
        raise Refused(401, text, _ASKED)
    key = keys.find(shown.decode("latin-1"))
    if key is None:
        raise Refused(401, "the key is not known here", _ASKED)
    if not key.allows(scope):
        raise Refused(403, f"this needs a key with the scope {scope!r}, got {listed(key.scopes)}")
    return key.name
