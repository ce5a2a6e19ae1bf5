"""The score card: what each tool says of each faulty server, and of the healthy ones. It writes docs/score-card.md."""

import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE / "servers")]
import faulty
import peers
import published

PAGE = HERE.parent.parent / "docs/score-card.md"

HEAD = """# Score card: what four tools say of broken servers

<!-- interop/check/run --score-card writes this page. -->

Each server here is healthy but for one fault: {faults} of them, small programs in
[interop/check/servers](../interop/check/servers), and one from npm.
{tools} are each run on each of them, with a time-out of {seconds} seconds where the tool has an option for that.

- `papertape check COMMAND` is told nothing else. It calls read-only tools by itself.
  Of its report, the first sentence of each finding counts; the bytes that prove it and the advice are left out.
- The others list the tools: `mcp-inspector --cli COMMAND --method tools/list --strict`,
  `mcporter list --stdio COMMAND --exit-code`, `fastmcp list --command COMMAND`.
- A fault that shows only in a call is marked *(call)*: there the others are told which tool to call, with the arguments that
  show it.

The rule is the same for all four, and a script applies it:

- **cause**: the tool's output has words that name the cause.
  Which words these are stands in the server's source, as `names`, and is the same for all tools.
  If a tool passes on what the server wrote to stderr, or quotes its bytes in an error, that counts.
  A list of tools or a result that is printed as usual does not count, even if the fault can be seen in it.
- **trouble**: it ends with another exit code than 0, or with an error on stderr, without these words.
- **nothing**: it ends with exit code 0, and without an error on stderr.
  Those that speak the revision of a server or do not need what it lacks are right to say nothing.

In the tables are the verdict, the exit code, and the statement that shows the verdict, shortened and without paths.
After {longest} seconds a tool is killed, which is the exit code "none".

What it does not measure: whether words that name a cause are easy to understand, whether the advice that comes with them is
right, and what a tool is made for. The Inspector, mcporter and FastMCP are made to use servers, not to check them;
`mcporter` and `fastmcp` are right to work around a fault where they can.
The servers and the words were chosen by the authors of papertape.
"""


class Row:
    """A server, and what the tools are asked of it."""

    def __init__(self, group, title, command, names=None, call=None, env=None):
        self.group, self.title, self.command, self.names, self.call, self.env = group, title, command, names, call, env


def rows(binary, scratch):
    number = {name: number for number, name in faulty.NUMBERS.items()}
    for group, servers in faulty.GROUPS.items():
        for server in servers:
            title = server.__doc__
            # By its number, because a tool that prints the command line would print the name of the fault.
            command = server.command(faulty.FILE, number[faulty.name(server)])
            yield Row(group, title, command, server.names, server.call)
        if group == "definitions":
            old = published.old_filesystem(scratch)
            title = f"`{old.name.replace(' ', '@')}`: 13 of its 14 tools have no `type` in `inputSchema`"
            yield Row(group, title, old.command, published.OLD_NAMES, env=old.env)
    for server in published.packages(scratch):
        yield Row("healthy", f"`{server.name.replace(' ', '@')}`", server.command, env=server.env)


def write(binary, scratch):
    """Asks all tools about all servers, and writes the page."""
    tools, search = peers.tools(binary)
    asked = list(rows(binary, scratch))
    said = {}
    with ThreadPoolExecutor(2) as pool:

        def ask(pair):
            row, tool = pair
            return pair, tool.ask(row.command, row.call, search, row.env)

        for (row, tool), answer in pool.map(ask, [(row, tool) for row in asked for tool in tools]):
            said[row, tool] = (*answer.verdict(row.names), answer.code)
            print(f"{tool.name:22}{said[row, tool][0]:8} {row.title}", flush=True)
    PAGE.write_text(page(tools, asked, said))


def page(tools, asked, said):
    faults = [row for row in asked if row.group != "healthy"]
    names = ", ".join(tool.name for tool in tools[:-1])
    several = f"{names} and {tools[-1].name}"
    parts = [HEAD.format(faults=len(faults), tools=several, seconds=peers.SECONDS, longest=peers.LONGEST)]
    parts.append(totals(tools, asked, said))
    for group in faulty.GROUPS:
        of_group = [row for row in asked if row.group == group]
        title = "No fault" if group == "healthy" else f"Faults: {group}"
        cells = [[named(row), *(cell(*said[row, tool]) for tool in tools)] for row in of_group]
        parts.append(f"## {title}\n\n{table(['the server', *(tool.name for tool in tools)], cells)}")
    return "\n".join(parts)


def named(row):
    return f"{row.title} *(call)*" if row.call else row.title


def totals(tools, asked, said):
    def count(tool, verdict, healthy=False):
        these = [row for row in asked if (row.group == "healthy") == healthy]
        return sum(said[row, tool][0] == verdict for row in these)

    cells = [
        [tool.name, *(count(tool, verdict) for verdict in ("cause", "trouble", "nothing"))]
        + [len([row for row in asked if row.group == "healthy"]) - count(tool, "nothing", healthy=True)]
        for tool in tools
    ]
    return f"## Totals\n\n{table(['tool', 'cause', 'trouble', 'nothing', 'false alarms'], cells)}"


def cell(verdict, quote, code):
    quote = quote.replace("|", "\\|").replace("`", "'")
    said = f": `{quote}`" if quote else ""
    return f"**{verdict}**, {'none' if code is None else code}{said}"


def table(head, cells):
    lines = [head, ["---"] * len(head), *cells]
    return "".join(f"| {' | '.join(map(str, line))} |\n" for line in lines)
