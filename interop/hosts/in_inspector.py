"""The MCP Inspector's command line, one command per question; `--strict` has its linter judge every tool.

in_inspector.py NODE INSPECTOR SERVERS    where SERVERS is what `run` makes of its servers, as JSON
"""

import json
import subprocess
import sys


class Failed(Exception):
    """A command of the Inspector that did not end well."""


def use(inspector, server, warnings):

    def ask(method, *words, era="legacy"):
        command = [
            *inspector,
            "--cli",
            *server["command"],
            "--method",
            method,
            "--protocol-era",
            era,
            "--format",
            "json",
            *words,
        ]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)
        if done.returncode != 0:
            raise Failed(f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
        warnings.extend(done.stderr.splitlines())
        return json.loads(done.stdout)["result"]

    tools = ask("tools/list", "--strict", era="modern")["tools"]
    if [tool["name"] for tool in ask("tools/list", "--strict")["tools"]] != [tool["name"] for tool in tools]:
        raise Failed("the tools of the legacy and the modern revision differ")
    called = ask("tools/call", "--tool-name", server["tool"], "--tool-args-json", json.dumps(server["arguments"]))
    prompt = None
    if server["prompt"]:
        fields = [f"{name}={value}" for name, value in server["fields"].items()]
        prompt = ask("prompts/get", "--prompt-name", server["prompt"], "--prompt-args", *fields)
        prompt = texts(*(message["content"] for message in prompt["messages"]))
    return {
        "tools": {tool["name"]: sorted(tool["inputSchema"]["properties"]) for tool in tools},
        "called": texts(*called["content"]),
        "prompt": prompt,
    }


def texts(*blocks):
    if others := [block for block in blocks if block["type"] != "text"]:
        raise Failed(f"there is other than text: {json.dumps(others)}")
    return "\n".join(block["text"] for block in blocks)


def tried(inspector, server):
    warnings = []
    try:
        return {**use(inspector, server, warnings), "warnings": warnings}
    except (Failed, KeyError, ValueError, subprocess.TimeoutExpired) as why:
        return {"error": f"{type(why).__name__}: {why}", "warnings": warnings}


*inspector, servers = sys.argv[1:]
print(json.dumps({name: tried(inspector, server) for name, server in json.loads(servers).items()}))
