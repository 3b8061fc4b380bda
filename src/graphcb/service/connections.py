"""Connections that send no request are closed, so that they cannot take the place of others."""

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

HEAD_SECONDS = 10.0  # from the first byte, or from the connection, to the end of the headers
HEAD_BYTES = 1_000_000  # until the headers end; a body may come along with them


class Connection(HttpToolsProtocol):
    """uvicorn's protocol, with limits on the headers, for which it has none."""

    _late: asyncio.TimerHandle | None = None  # while headers are awaited
    _n_bytes = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Expect a request within HEAD_SECONDS."""
        super().connection_made(transport)
        self._await_headers()

    def connection_lost(self, exc: Exception | None) -> None:
        """Expect nothing more."""
        self._stop_waiting()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Close a connection whose headers do not end."""
        if self._late is not None:
            self._n_bytes += len(data)
            if self._n_bytes > HEAD_BYTES:
                self.transport.close()
                return
        super().data_received(data)

    def on_message_begin(self) -> None:
        """Expect the end of the headers."""
        self._await_headers()
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """The request is there."""
        self._stop_waiting()
        super().on_headers_complete()

    def _await_headers(self) -> None:
        self._stop_waiting()
        self._n_bytes = 0
        self._late = self.loop.call_later(HEAD_SECONDS, self.timeout_keep_alive_handler)

    def _stop_waiting(self) -> None:
        late: Any = self._late
        if late is not None:
            late.cancel()
            self._late = None
