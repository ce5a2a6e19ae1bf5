"""What the hosts in Python have in common: each uses the servers it is given and prints what it got of them as JSON.

in_NAME.py SERVERS    where SERVERS is what `run` makes of its servers, as JSON
"""

import asyncio
import json
import logging
import sys
import traceback
import warnings
from types import SimpleNamespace


class Heard(logging.Handler):
    """Keeps what a framework logs from a level on."""

    def __init__(self, level):
        super().__init__(level)
        self.lines = []

    def emit(self, record):
        self.lines.append(f"{record.levelname} {record.name}: {record.getMessage()}")


def main(use, level=logging.WARNING):
    """Has `use` try each server. It gives the tools with their arguments, the text of a call and that of a prompt."""
    servers = json.loads(sys.argv[1])
    seen = {
        name: asyncio.run(tried(use, SimpleNamespace(name=name, **server), level)) for name, server in servers.items()
    }
    print(json.dumps(seen))


async def tried(use, server, level):
    heard = Heard(level)
    logging.root.addHandler(heard)
    if level < logging.root.level:
        logging.root.setLevel(level)
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            seen = await use(server)
        except Exception as error:
            seen = {"error": "\n".join(told(error))}
    logging.root.removeHandler(heard)
    warned = [f"{it.category.__name__}: {it.message} ({it.filename}:{it.lineno})" for it in warned]
    return {**seen, "warnings": heard.lines + warned}


def told(error):
    """What happened where: frameworks wrap an exception in groups, and those in groups."""
    if inner := getattr(error, "exceptions", None):
        return [line for it in inner for line in told(it)]
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return [f"{type(error).__name__} at {frame.filename}:{frame.lineno}: {error}"]


def arguments(schema):
    """The names of the arguments that are left in a schema that a framework has converted."""
    return sorted(schema.get("properties") or {})


def texts(*blocks):
    """The text of content blocks, which must be all that there is."""
    if others := [block for block in blocks if not hasattr(block, "text")]:
        raise AssertionError(f"there is other than text: {others}")
    return "\n".join(block.text for block in blocks)
