"""A TCP proxy before a PostgreSQL server, in a process of its own.

It counts the bytes that pass in each direction. When it has been told to, it does something after
the n-th byte, exactly: it cuts the connection, or runs a function that harms the server, before it
passes the next.
"""

import mmap
import os
import select
import signal
import socket
import struct
from collections.abc import Callable
from contextlib import suppress

from faults.tally import end_with_parent

TO_SERVER, TO_CLIENT = 0, 1
Harm = Callable[[int], None]  # given the port of the proxy's own connection to the server


class Proxy:
    """Listens on `port` of loopback; `harms` are chosen by number, 0 being a cut."""

    def __init__(self, server_port: int, harms: list[Harm]) -> None:
        self._server_port, self._harms = server_port, harms
        self._memory = mmap.mmap(-1, 64)  # direction, bytes left or -1, harm, harmed; two counts
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._set(0, -1, 0, 0)
        self._process = os.fork()
        if self._process == 0:
            try:
                end_with_parent()
                self._serve()
            finally:
                os._exit(1)

    def arm(self, direction: int, n: int, harm: int) -> None:
        """After n more bytes in one direction, do harm."""
        self._set(direction, n, harm, 0)

    def disarm(self) -> bool:
        """Whether the harm was done."""
        harmed = bool(self._get()[3])
        self._set(0, -1, 0, 0)
        return harmed

    def counted(self) -> tuple[int, int]:
        """Bytes to the server and to the client since the proxy began."""
        first, second = struct.unpack("<qq", self._memory[32:48])
        return first, second

    def close(self) -> None:
        self._listener.close()
        os.kill(self._process, signal.SIGKILL)
        os.waitpid(self._process, 0)

    def _set(self, *numbers: int) -> None:
        self._memory[:32] = struct.pack("<qqqq", *numbers)

    def _get(self) -> tuple[int, int, int, int]:
        direction, left, harm, harmed = struct.unpack("<qqqq", self._memory[:32])
        return direction, left, harm, harmed

    def _serve(self) -> None:
        """Pass bytes until this process is ended."""
        other_end: dict[socket.socket, socket.socket] = {}
        to_server: set[socket.socket] = set()
        while True:
            for ready in select.select([self._listener, *other_end], [], [])[0]:
                if ready is self._listener:
                    client = self._listener.accept()[0]
                    try:
                        server = socket.create_connection(("127.0.0.1", self._server_port))
                    except OSError:
                        client.close()
                        continue
                    for end in (client, server):
                        end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                    other_end |= {client: server, server: client}
                    to_server.add(client)
                elif ready in other_end:
                    direction = TO_SERVER if ready in to_server else TO_CLIENT
                    if not self._pass(ready, other_end[ready], direction):
                        for end in (ready, other_end[ready]):
                            other_end.pop(end, None)
                            to_server.discard(end)
                            end.close()

    def _pass(self, source: socket.socket, target: socket.socket, direction: int) -> bool:
        """Whether the connection lasts."""
        try:
            content = source.recv(65536)
            at = 32 + 8 * direction
            count = struct.unpack("<q", self._memory[at : at + 8])[0] + len(content)
            self._memory[at : at + 8] = struct.pack("<q", count)
            wanted, left, harm, _ = self._get()
            if left >= 0 and wanted == direction and content:
                if len(content) < left:
                    self._set(wanted, left - len(content), harm, 0)
                else:
                    target.sendall(content[:left])
                    self._set(0, -1, 0, 1)
                    if harm == 0:
                        return False
                    server = target if direction == TO_SERVER else source
                    with suppress(Exception):
                        self._harms[harm - 1](server.getsockname()[1])
                    content = content[left:]
                    target.sendall(content)
                    return True
            target.sendall(content)
            return bool(content)
        except OSError:
            return False
