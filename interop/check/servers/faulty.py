#!/usr/bin/env python3
"""Small MCP servers over stdio, each with one fault; and a few without.

    faulty.py            lists them
    faulty.py NAME       runs one, for two minutes at most
"""

import re
import signal
import sys

sys.dont_write_bytecode = True  # leave no __pycache__ among the sources

import behaving
import defining
import ending
import healthy
import on_stdout
import opening
import starting

GROUPS = {
    "stdout": on_stdout.FAULTS,
    "start": starting.FAULTS,
    "opening": opening.FAULTS,
    "definitions": defining.FAULTS,
    "behaviour": behaving.FAULTS,
    "shutdown": ending.FAULTS,
    "healthy": healthy.HEALTHY,
}


def name(server):
    """StrayLine is `stray-line`."""
    return re.sub(r"(?<!^)(?=[A-Z])", "-", server.__name__).lower()


SERVERS = {name(server): server for group in GROUPS.values() for server in group}


def main():
    match sys.argv[1:]:
        case []:
            for group, servers in GROUPS.items():
                print(f"{group}:")
                for server in servers:
                    print(f"  {name(server):24}{server.__doc__}")
        case [chosen] if chosen in SERVERS:
            # No server outlives a test that went wrong.
            signal.alarm(120)
            SERVERS[chosen]().run()
        case words:
            return f"faulty.py: no such server: {' '.join(words)}"


if __name__ == "__main__":
    sys.exit(main())
