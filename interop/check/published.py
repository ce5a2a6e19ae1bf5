"""Servers that others have written, and the bundled ones: healthy, but for one."""

import os
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import install

# How an example that only makes a server is started.
RUN_IT = "import runpy, sys; runpy.run_path(sys.argv[1])['mcp'].run()"

# Examples of the Python SDK that need a package of somebody else, or serve HTTP and nothing else.
NOT_ON_STDIO = {
    "memory",
    "text_me",
    "images",
    "bearer_auth",
    "identity_assertion",
    "json_response",
    "legacy_routing",
    "oauth",
    "oauth_client_credentials",
    "sse_polling",
    "starlette_mount",
    "stateless_legacy",
    "everything-server",
    "simple-auth",
    "simple-streamablehttp",
    "simple-streamablehttp-stateless",
    "sse-polling-demo",
}

# Those that ./test tries: each kind of definition, on both of the SDK's levels.
SOME_EXAMPLES = {
    "mcpserver/complex_inputs",
    "mcpserver/weather_structured",
    "snippets/elicitation",
    "snippets/structured_output",
    "stories/dual_era/server_lowlevel",
    "stories/resources/server",
    "stories/pagination/server_lowlevel",
    "simple-prompt",
}

# What is true of an example, and harmless there: its tool has no description; it does not validate arguments.
TRUE_OF_EXAMPLES = {
    "stories/standalone_get/server_lowlevel": {"PT0408"},
    "stories/tools/server_lowlevel": {"PT0604"},
}

# What is wrong with an old release, and the words that say so.
OLD_CODES = {"PT0402"}
OLD_SUBJECT = "13 tools"
OLD_NAMES = r"inputSchema"


class Published:
    """A server, the command that starts it, and what a check may say of it, although it is healthy."""

    def __init__(self, name, *command, env=None, warnings=()):
        self.name, self.command = name, [str(word) for word in command]
        self.env, self.warnings = {**os.environ, **(env or {})}, set(warnings)


def packages(scratch):
    """The reference servers, newest."""
    node, folder = install.checked()
    everything = install.typescript()[1] / "node_modules/@modelcontextprotocol/server-everything/dist/index.js"
    scope = folder / "node_modules/@modelcontextprotocol"
    memory = {"MEMORY_FILE_PATH": str(scratch / "memory.jsonl")}
    return [
        Published("@modelcontextprotocol/server-everything 2026.8.31", node, everything),
        Published("@modelcontextprotocol/server-memory 2026.8.31", node, scope / "server-memory/dist/index.js", env=memory),
        Published(
            "@modelcontextprotocol/server-filesystem 2026.8.31", node, scope / "server-filesystem/dist/index.js", scratch
        ),
    ]


def old_filesystem(scratch):
    """14 tools, of which 13 have no `type` in their schema, because npm resolves its zod to 4."""
    node, folder = install.checked()
    program = folder / "node_modules/server-filesystem-2025/dist/index.js"
    return Published("@modelcontextprotocol/server-filesystem 2025.8.21", node, program, scratch)


def bundled(binary, scratch):
    """papertape's own, with a blog of two posts."""
    blog = scratch / "blog"
    blog.mkdir()
    (blog / "bread.md").write_text("---\ntitle: Bread\n---\n\nHow to bake sourdough: flour, water, salt and time.\n")
    (blog / "sewing.md").write_text("# Sewing\n\nHow to sew a button on so that it stays.\n")
    served = [["grammar"], ["text"], ["all"], ["blog", "--content", blog]]
    return [Published(f"papertape serve {words[0]}", binary, "serve", *words) for words in served]


def with_sdks():
    """The small servers of the interop tests, on other SDKs."""
    python1 = install.python("python1", HERE.parent / "python/requirements1.txt")
    python2 = install.python("python2", HERE.parent / "python/requirements2.txt")
    node, typescript = install.typescript()
    return [
        Published("Python SDK 1.30.0, interop/python/server1.py", python1, HERE.parent / "python/server1.py"),
        Published("Python SDK 2.3.0, interop/python/server2.py", python2, HERE.parent / "python/server2.py"),
        Published("TypeScript SDK 1.32.2, interop/typescript/server1.mjs", node, typescript / "server1.mjs"),
        Published("TypeScript SDK 2.4.0, interop/typescript/server2.mjs", node, typescript / "server2.mjs"),
        Published("rmcp 3.8.0, interop/rmcp", install.cargo(HERE.parent / "rmcp", "interop-rmcp")),
    ]


def examples(every):
    """Those of the Python SDK that can be started over stdio; some, or every one."""
    python, folder = install.examples_of_the_sdk()
    found = {}
    for file in [*folder.glob("mcpserver/*.py"), *folder.glob("snippets/servers/*.py")]:
        if "\nmcp = " in file.read_text():
            name = str(file.relative_to(folder).with_suffix("")).replace("/servers", "")
            found[name] = [python, "-c", RUN_IT, file]
    for file in folder.glob("stories/*/server*.py"):
        name = str(file.relative_to(folder).with_suffix(""))
        found[name] = [python, "-m", name.replace("/", ".")]
    for file in folder.glob("servers/*/*/__main__.py"):
        found[file.parent.parent.name] = [python, "-m", file.parent.name]
    if missing := SOME_EXAMPLES - set(found):
        raise install.Missing(f"the Python SDK has no example {', '.join(sorted(missing))}")
    path = {"PYTHONPATH": ":".join(map(str, [folder, *folder.glob("servers/*")]))}
    return [
        Published(f"Python SDK 2.3.0, examples/{name}", *command, env=path, warnings=TRUE_OF_EXAMPLES.get(name, ()))
        for name, command in sorted(found.items())
        if (name in SOME_EXAMPLES or every) and NOT_ON_STDIO.isdisjoint(name.split("/"))
    ]
