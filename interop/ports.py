"""Ports for servers that cannot be told to take any port that is free."""

import socket
import time


def reserve():
    """A socket that holds a port of loopback for as long as it is open, and the port.

    It is bound and never listens: no other process is handed the port, and a server that says SO_REUSEADDR, as they all do, may
    listen there.
    """
    held = socket.socket()
    held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    held.bind(("127.0.0.1", 0))
    return held, held.getsockname()[1]


def listens(process, port):
    """Waits until a process listens on its port; false if it ends before."""
    while process.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            return True
        except ConnectionRefusedError:
            time.sleep(0.01)
    return False
