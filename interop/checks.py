"""What is checked of a pair: papertape's client against a foreign server, a foreign client against papertape's server."""

import json

from pair import LEGACY, MODERN, Papertape, result, text
from served import Served

# What must cross unharmed.
TEXT = 'naïve "日本" \\ 🎞'


def interop_server(binary, server, name, add, echo, fail, signs):
    """Our small server on a foreign SDK: the same three tools, a resource and a prompt on each."""
    signature = {"io.modelcontextprotocol/serverInfo": {"name": name, "version": "1.0.0"}} if signs else None

    def check(pair):
        pair.server = server
        with server:
            talk(pair, Papertape(pair, binary, server, signature))

    def talk(pair, papertape):
        papertape.lists(name, tools=["add", "echo", "fail"], resources=["interop://greeting"], prompts=["greet"])
        papertape.calls("add", {"a": 2, "b": 3}, add)
        papertape.calls("echo", {"text": TEXT}, echo)
        papertape.calls("fail", {}, fail)
        papertape.reads("interop://greeting", {"mimeType": "text/plain", "text": "Hello from the other side."})
        papertape.prompts("greet", {"name": "Ada"}, "Greet Ada kindly.")
        # Whatever they agree on by themselves, they can be told to speak any older revision.
        for older in LEGACY:
            papertape.calls("add", {"a": 2, "b": 3}, add, revision=older)
        if pair.revision != MODERN:
            refused = papertape.ask("call", "add", "a=2", "b=3", revision=MODERN, status=3)
            pair.equal("what is wrong", refused["error"]["kind"], "unsupported")

    return check


def everything_server(binary, server):
    """The reference server that has everything: other kinds of content, templates, progress, many tools."""

    def check(pair):
        pair.server = server
        with server:
            talk(Papertape(pair, binary, server))

    def talk(papertape):
        documents = "architecture extension features how-it-works instructions startup structure".split()
        papertape.lists(
            "mcp-servers/everything",
            tools=[
                "echo",
                "get-annotated-message",
                "get-env",
                "get-resource-links",
                "get-resource-reference",
                "get-structured-content",
                "get-sum",
                "get-tiny-image",
                "gzip-file-as-resource",
                "toggle-simulated-logging",
                "toggle-subscriber-updates",
                "trigger-long-running-operation",
                "simulate-research-query",
            ],
            resources=[f"demo://resource/static/document/{name}.md" for name in documents],
            resourceTemplates=[f"demo://resource/dynamic/{kind}/{{resourceId}}" for kind in ("text", "blob")],
            prompts=["simple-prompt", "args-prompt", "completable-prompt", "resource-prompt"],
        )
        papertape.calls("echo", {"message": TEXT}, result(text(f"Echo: {TEXT}")))
        papertape.calls("get-sum", {"a": 2, "b": 3}, result(text("The sum of 2 and 3 is 5.")))

        weather = {"temperature": 36, "conditions": "Light rain / drizzle", "humidity": 82}
        said = json.dumps(weather, separators=(",", ":"))
        papertape.calls("get-structured-content", {"location": "Chicago"}, result(text(said), structured=weather))

        marks = {"audience": ["user", "assistant"], "priority": 1}
        marked = {**text("Error: Operation failed"), "annotations": marks}
        papertape.calls("get-annotated-message", {"messageType": "error"}, result(marked))

        link = {
            "type": "resource_link",
            "uri": "demo://resource/dynamic/blob/1",
            "name": "Blob Resource 1",
            "description": "Resource 1: plaintext resource",
            "mimeType": "text/plain",
        }
        said = text("Here are 1 resource links to resources available in this server:")
        papertape.calls("get-resource-links", {"count": 1}, result(said, link))

        said = text("Invalid resourceId: -3. Must be a finite positive integer.")
        broken = {"resourceType": "Text", "resourceId": -3}
        papertape.calls("get-resource-reference", broken, result(said, error=True))

        said = text("Long running operation completed. Duration: 0.2 seconds, Steps: 2.")
        papertape.calls("trigger-long-running-operation", {"duration": 0.2, "steps": 2}, result(said))

        papertape.prompts("args-prompt", {"city": "Paris"}, "What's weather in Paris?")

    return check


QUESTIONS = ['What is the past simple of "go" for he/she/it?', 'What is the present simple of "see" for he/she/it?']

# What every client must see of the grammar server. All support elicitation, by requests in session-based revisions and with
# input_required in the modern one, and answer "went" to every question of the drill.
GRAMMAR = {
    "server": "papertape-grammar",
    "tools": ["conjugate", "lookup_irregular_verb", "lookup_spanish", "check_subject_verb_agreement", "drill"],
    "conjugate": {"text": ["ate"], "structured": None, "isError": False},
    "lookup": {
        "text": ['{"infinitive":"write","past_simple":"wrote","past_participle":"written"}'],
        "structured": {"infinitive": "write", "past_simple": "wrote", "past_participle": "written"},
        "isError": False,
    },
    "failing": {
        "text": ['"walk" is regular: its past simple and its past participle are both "walked"'],
        "structured": None,
        "isError": True,
    },
    "read": "# eat (irregular)",
    "prompt": ["user"],
    "drill": {
        "asked": True,
        "summary": "1 of 2 right.",
        "seed": 64,
        "score": 1,
        "marks": [
            {"question": QUESTIONS[0], "given": "went", "answer": "went", "right": True},
            {"question": QUESTIONS[1], "given": "went", "answer": "sees", "right": False},
        ],
    },
    "unknown": -32602,
}


def our_server(binary, *client):
    """papertape's grammar server, started over stdio by a foreign client that prints what it saw."""

    def check(pair):
        seen, stderr = pair.program(*client, binary, "serve", "grammar", "--tape", "TAPE")
        pair.equal("revision", seen.pop("revision"), pair.revision)
        pair.equal("what the client saw", seen, GRAMMAR)
        pair.equal("what client and server complained about", stderr, "")

    return check


def our_http_server(binary, path, *client):
    """papertape's grammar server on HTTP, used by a foreign client that prints what it saw."""

    def check(pair):
        server = Served(path, binary, "serve", "grammar", "--http", "127.0.0.1:0", "--legacy-sse", "--tape", "TAPE")
        pair.server = server
        with server:
            seen, stderr = pair.program(*client, server.url)
        pair.equal("revision", seen.pop("revision"), pair.revision)
        pair.equal("what the client saw", seen, GRAMMAR)
        pair.equal("what the client complained about", stderr, "")
        pair.equal("lines that the server wrote", server.said.count("\n"), 1)
        pair.equal("how the server ended", server.process.returncode, 0)

    return check
