"""Runs a command on a terminal, gives the first thing that it asks for and accepts all others, and prints what it showed as JSON.

on_terminal.py ANSWER COMMAND ARGS...
"""

import json
import os
import pty
import select
import sys

LONGEST = 120

answer, *command = sys.argv[1:]
child, terminal = pty.fork()
if child == 0:
    os.execvpe(command[0], command, {**os.environ, "NO_COLOR": "1", "TERM": "dumb"})

shown, answered = b"", 0
while select.select([terminal], [], [], LONGEST)[0]:
    try:
        read = os.read(terminal, 4096)
    except OSError:  # how Linux says that the other end is closed
        break
    if not read:
        break
    shown += read
    if shown.endswith(b": ") and len(shown) > answered:  # it waits for a line
        os.write(terminal, answer.encode() + b"\n" if not answered else b"\n")
        answered = len(shown)
else:
    os.kill(child, 9)
status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
print(json.dumps({"status": status, "shown": shown.decode(errors="replace").replace("\r\n", "\n")}))
