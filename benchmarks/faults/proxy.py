"""A TCP proxy before a PostgreSQL server, in a process of its own.

It counts the bytes that pass in each direction. When it has been told to, it does something after
the n-th byte, exactly: it cuts the connection, or runs a function that harms the server, before it
passes the next. It may also behave as a bad network does: it drops what is sent, holds it back
until further notice, or delays it.
"""

import mmap
import os
import select
import signal
import socket
import struct
import threading
import time
from collections.abc import Callable
from contextlib import suppress

from faults.tally import end_with_parent

TO_SERVER, TO_CLIENT = 0, 1
PASSES, DROPS, FREEZES, ENDS = range(4)
Harm = Callable[[int], None]  # given the port of the proxy's own connection to the server


class Proxy:
    """Listens on `port` of loopback; `harms` are chosen by number.

    0 is a cut, and -1 that all is dropped from then on.

    With `in_thread`, it is a thread of this process, which may have others.
    """

    def __init__(
        self, server_port: int, harms: list[Harm] | None = None, *, in_thread: bool = False
    ) -> None:
        self._server_port, self._harms = server_port, harms or []
        # direction, bytes left or -1, harm, harmed; two counts; how it behaves, milliseconds
        self._memory = mmap.mmap(-1, 64)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._set(0, -1, 0, 0)
        self._thread: threading.Thread | None = None
        if in_thread:
            self._thread = threading.Thread(target=self._serve, daemon=True)
            self._thread.start()
            return
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

    def behave(self, how: int, delay: float = 0.0) -> None:
        """From now on: pass all after a delay in seconds, drop it, or hold it back.

        A connection that has lost something stays silent for ever, as behind a firewall that has
        forgotten it; what was held back arrives in the end.
        """
        self._memory[48:64] = struct.pack("<qq", how, round(1000 * delay))

    def close(self) -> None:
        if self._thread is not None:
            self.behave(ENDS)
            self._thread.join()
            self._listener.close()
            return
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
        silent: set[socket.socket] = set()  # once something was dropped
        over: list[socket.socket] = []  # ends of these whose other end must not know
        while (how := struct.unpack("<q", self._memory[48:56])[0]) != ENDS:
            if how == FREEZES:
                time.sleep(0.02)
                continue
            listening = [] if how == DROPS else [self._listener]  # or nobody answers
            for ready in select.select([*listening, *other_end], [], [], 0.02)[0]:
                time.sleep(struct.unpack("<q", self._memory[56:64])[0] / 1000)
                if ready in silent or (how == DROPS and ready in other_end):
                    silent |= {ready, other_end[ready]}
                    if not _is_more(ready):
                        over.append(ready)
                        del other_end[ready]
                elif ready is self._listener:
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
        for end in (*other_end, *over):
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
                    if harm == -1:
                        self.behave(DROPS)
                        return True
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


def _is_more(source: socket.socket) -> bool:
    try:
        return bool(source.recv(65536))
    except OSError:
        return False
