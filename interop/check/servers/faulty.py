#!/usr/bin/env python3
"""Small MCP servers over stdio, each with one fault; and a few without.

    faulty.py            lists them
    faulty.py NAME       runs one, for two minutes at most
    faulty.py NUMBER     the same, where its name would tell a tool what is wrong
"""

import re
import signal
import sys
from pathlib import Path

sys.dont_write_bytecode = True  # leave no __pycache__ among the sources

import behaving
import defining
import ending
import healthy
import on_stdout
import opening
import starting

FILE = Path(__file__).resolve()
HEALTHY = healthy.HEALTHY

GROUPS = {
    "stdout": on_stdout.FAULTS,
    "start": starting.FAULTS,
    "opening": opening.FAULTS,
    "definitions": defining.FAULTS,
    "behaviour": behaving.FAULTS,
    "shutdown": ending.FAULTS,
    "healthy": HEALTHY,
}


def name(server):
    """StrayLine is `stray-line`."""
    return re.sub(r"(?<!^)(?=[A-Z])", "-", server.__name__).lower()


SERVERS = {name(server): server for group in GROUPS.values() for server in group}


NUMBERS = {str(number): name for number, name in enumerate(SERVERS, 1)}


def main():
    if len(sys.argv) == 1:
        for group, servers in GROUPS.items():
            print(f"{group}:")
            for server in servers:
                print(f"  {name(server):24}{server.__doc__}")
        return None
    chosen = NUMBERS.get(sys.argv[1], sys.argv[1])
    if chosen not in SERVERS:
        return f"faulty.py: there is no server {chosen!r}"
    # No server outlives a test that went wrong.
    signal.alarm(120)
    SERVERS[chosen]().run()


if __name__ == "__main__":
    sys.exit(main())
