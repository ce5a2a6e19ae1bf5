"""Runs a command on a terminal and writes what it shows as a picture, an SVG.

docs/terminal.py FILE.svg COMMAND ARGS...
"""

import os
import pty
import re
import shlex
import sys
import unicodedata
from html import escape

COLUMNS = 96
CELL, LINE, MARGIN = 8.4, 19, 16
COLOURS = {"31": "#ff7b72", "32": "#7ee787", "33": "#e3b341", "34": "#79c0ff", "35": "#d2a8ff", "36": "#76e3ea"}


def shown(command):
    """The bytes that a command writes to a terminal."""
    child, terminal = pty.fork()
    if child == 0:
        os.environ.update(TERM="xterm", LANG="C.UTF-8")
        os.execvp(command[0], command)
    import fcntl
    import struct
    import termios

    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 60, COLUMNS, 0, 0))
    parts = []
    while True:
        try:
            part = os.read(terminal, 4096)
        except OSError:
            part = b""
        if not part:
            os.waitpid(child, 0)
            return b"".join(parts).decode()
        parts.append(part)


def width(text):
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else not unicodedata.combining(c) for c in text)


def spans(line, style):
    """Parts of a line, each at its column and in its style, which goes on in the next line."""
    column, found = 0, []
    for part in re.split(r"(\x1b\[[0-9;?]*[A-Za-z])", line):
        if part.endswith("m") and part.startswith("\x1b["):
            for code in part[2:-1].split(";"):
                style = {} if code in ("", "0") else {**style, code: True}
        elif part and not part.startswith("\x1b"):
            found.append((column, part, style))
            column += width(part)
    return found, style


def attributes(style):
    colour = next((COLOURS[code] for code in style if code in COLOURS), None)
    named = {"fill": colour, "font-weight": "bold" if "1" in style else None, "opacity": ".6" if "2" in style else None}
    return "".join(f' {name}="{value}"' for name, value in named.items() if value)


def picture(command, output):
    lines = [f"$ {shlex.join(command)}", *output.replace("\r\n", "\n").rstrip("\n").split("\n")]
    rows, style = [], {}
    for number, line in enumerate(lines):
        found, style = spans(line.rsplit("\r", 1)[-1], style)
        for column, text, look in found:
            # Blanks at the ends are not drawn, whatever the viewer makes of them.
            column += width(text) - width(text.lstrip())
            text = text.strip()
            if not text:
                continue
            x, y = MARGIN + column * CELL, MARGIN + (number + 0.75) * LINE
            length = f' textLength="{width(text) * CELL:.1f}" lengthAdjust="spacingAndGlyphs"'
            rows.append(f'<text x="{x:.1f}" y="{y:.1f}"{length}{attributes(look)}>{escape(text)}</text>')
    size = f'width="{COLUMNS * CELL + 2 * MARGIN:.0f}" height="{len(lines) * LINE + 2 * MARGIN:.0f}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} fill="#e6edf3" font-size="14" '
        'font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, \'DejaVu Sans Mono\', monospace">\n'
        '<rect width="100%" height="100%" rx="8" fill="#0d1117"/>\n' + "\n".join(rows) + "\n</svg>\n"
    )


if len(sys.argv) < 3:
    sys.exit(__doc__)
with open(sys.argv[1], "w", encoding="utf-8") as file:
    file.write(picture(sys.argv[2:], shown(sys.argv[2:])))
