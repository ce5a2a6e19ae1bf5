"""Servers without a fault, some of them unusual: no tool may raise an alarm."""

import sys
import threading
import time

from server import Server


class Healthy(Server):
    """Without a fault"""


class BannerOnStderr(Server):
    """A banner and logs on stderr"""

    codes = ("PT0115",)

    def start(self):
        print("\x1b[1mExample server\x1b[0m 1.0.0\n[dotenv@17.2.3] injecting env (2) from .env", file=sys.stderr)

    def receive(self, message):
        print(f"INFO received {message.get('method')}", file=sys.stderr)
        super().receive(message)


class StartsInASecond(Server):
    """Starts in a second, as an interpreter with many modules does"""

    def start(self):
        time.sleep(1)


class OneRevision(Server):
    """Supports 2024-11-05 only"""

    def opened(self, revision):
        return {**super().opened(revision), "protocolVersion": "2024-11-05"}


class InThreads(Server):
    """Answers out of order, in threads"""

    def __init__(self):
        self.lock = threading.Lock()

    def respond(self, request):
        threading.Thread(target=super().respond, args=[request]).start()

    def write(self, data):
        with self.lock:
            super().write(data)


class Escaped(Server):
    """JSON with escapes, spaces, and members in another order"""

    layout = {"separators": (" , ", " : "), "sort_keys": True}


HEALTHY = [Healthy, BannerOnStderr, StartsInASecond, OneRevision, InThreads, Escaped]
