"""Has the official packages check, send and read what papertape makes: check.py PROGRAM < SERVERS

For each API, the tools of each server are declared, checked by the package's own types, and sent by its client to an endpoint
that plays a response with a call of each tool. papertape reads what the client made of that, and the results, in papertape's
form, are checked and sent, too.
"""

import copy
import json
import subprocess
import sys
import threading
import warnings
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import anthropic
import anthropic.types
import openai
import openai.types.chat
import openai.types.responses
from google import genai
from google.genai import types as gemini
from openai.lib import _pydantic as openai_strict
from openai.types.responses.response_input_param import FunctionCallOutput
from pydantic import TypeAdapter

RESULT = {
    "content": [
        {"type": "text", "text": "A text."},
        {"type": "image", "mimeType": "image/png", "data": "iVBORw0KGgo="},
        {"type": "audio", "mimeType": "audio/wav", "data": "UklGRg=="},
    ],
    "isError": True,
}
USER = "Call every tool."


class Endpoint(ThreadingHTTPServer):
    """Plays one response to every request, and keeps the body of the last one."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.response, self.body = {}, {}
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        threading.Thread(target=self.serve_forever, daemon=True).start()


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        self.server.body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        played = json.dumps(self.server.response).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(played)))
        self.end_headers()
        self.wfile.write(played)

    def log_message(self, *_):
        pass


class Papertape:
    """The program of ours that declares tools, reads responses and words results."""

    def __init__(self, program):
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.communicate()  # the end of its input is its end

    def __call__(self, **told):
        self.process.stdin.write(json.dumps(told) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())


def same(what, one, two):
    if one != two:
        raise AssertionError(f"{what}\n  is        {json.dumps(one)[:2000]}\n  should be {json.dumps(two)[:2000]}")


def strict_parts(tools):
    """The functions that are declared in strict mode."""
    functions = (tool.get("function", tool) for tool in tools)
    return [function for function in functions if function.get("strict")]


class Api:
    def sent(self, tools):
        """Tools in the form in which they can be compared."""
        return tools


class Chat(Api):
    name, api, versions = "OpenAI Chat Completions", "openai", openai.__version__

    def __init__(self, endpoint):
        self.client = openai.OpenAI(api_key="none", base_url=endpoint.url, max_retries=0)

    def declared(self, tools):
        TypeAdapter(list[openai.types.chat.ChatCompletionFunctionToolParam]).validate_python(tools)
        for tool in tools:
            openai.types.FunctionDefinition.model_validate(tool["function"])
        return [tool["function"]["name"] for tool in tools]

    def response(self, names):
        calls = [
            {"id": f"c{index}", "type": "function", "function": {"name": name, "arguments": "{}"}}
            for index, name in enumerate(names)
        ]
        message = {"role": "assistant", "content": None, "tool_calls": calls}
        choice = {"index": 0, "finish_reason": "tool_calls", "message": message}
        return {"id": "r", "object": "chat.completion", "created": 0, "model": "m", "choices": [choice]}

    def send(self, tools, turn):
        """The tools as they were sent, and the response as JSON again."""
        response = self.client.chat.completions.create(
            model="m", messages=[{"role": "user", "content": USER}, *turn], tools=tools
        )
        return response.to_dict()

    def messages(self, response, messages):
        tool = TypeAdapter(openai.types.chat.ChatCompletionToolMessageParam)
        for message in messages:
            tool.validate_python(message)
        return [response["choices"][0]["message"], *messages]


class Responses(Api):
    name, api, versions = "OpenAI Responses", "openai-responses", openai.__version__

    def __init__(self, endpoint):
        self.client = openai.OpenAI(api_key="none", base_url=endpoint.url, max_retries=0)

    def declared(self, tools):
        TypeAdapter(list[openai.types.responses.FunctionToolParam]).validate_python(tools)
        for tool in tools:
            openai.types.responses.FunctionTool.model_validate(tool)
        return [tool["name"] for tool in tools]

    def response(self, names):
        calls = [
            {"id": f"fc{index}", "type": "function_call", "call_id": f"c{index}", "name": name, "arguments": "{}"}
            for index, name in enumerate(names)
        ]
        rest = {"parallel_tool_calls": True, "tool_choice": "auto", "tools": []}
        return {"id": "r", "object": "response", "created_at": 0, "model": "m", "output": calls, **rest}

    def send(self, tools, turn):
        return self.client.responses.create(
            model="m", input=[{"role": "user", "content": USER}, *turn], tools=tools
        ).to_dict()

    def messages(self, response, messages):
        output = TypeAdapter(FunctionCallOutput)
        for message in messages:
            output.validate_python(message)
        return [*response["output"], *messages]


class Anthropic(Api):
    name, api, versions = "Anthropic Messages", "anthropic", anthropic.__version__

    def __init__(self, endpoint):
        self.client = anthropic.Anthropic(api_key="none", base_url=endpoint.url, max_retries=0)

    def declared(self, tools):
        TypeAdapter(list[anthropic.types.ToolParam]).validate_python(tools)
        for tool in tools:
            TypeAdapter(anthropic.types.tool_param.InputSchemaTyped).validate_python(tool["input_schema"])
        return [tool["name"] for tool in tools]

    def response(self, names):
        calls = [{"type": "tool_use", "id": f"c{index}", "name": name, "input": {}} for index, name in enumerate(names)]
        rest = {"stop_reason": "tool_use", "usage": {"input_tokens": 0, "output_tokens": 0}}
        return {"id": "r", "type": "message", "role": "assistant", "model": "m", "content": calls, **rest}

    def send(self, tools, turn):
        return self.client.messages.create(
            model="m", max_tokens=10, messages=[{"role": "user", "content": USER}, *turn], tools=tools
        ).to_dict()

    def messages(self, response, messages):
        turn = [{"role": "assistant", "content": response["content"]}, *messages]
        for message in messages:
            TypeAdapter(anthropic.types.MessageParam).validate_python(message)
            for block in message["content"]:
                TypeAdapter(anthropic.types.ToolResultBlockParam).validate_python(block)
        return turn


class Gemini(Api):
    name, api, versions = "Gemini generateContent", "gemini", genai.__version__

    def __init__(self, endpoint):
        options = gemini.HttpOptions(base_url=endpoint.url)
        self.client = genai.Client(api_key="none", http_options=options)

    def declared(self, tools):
        names = []
        for tool in tools:
            for function in gemini.Tool.model_validate(tool).function_declarations:
                names.append(function.name)
                self.schema(function.parameters)
        return names

    def sent(self, tools):
        """The package writes `max_length` for `maxLength` and 1.0 for 1, which is the same to the API."""
        return [gemini.Tool.model_validate(tool).model_dump(mode="json", exclude_none=True) for tool in tools]

    def schema(self, schema):
        """What the package's types leave open, and the API does not accept."""
        if schema is None:
            return
        if (schema.type is None) == (schema.any_of is None):
            raise AssertionError(f"a schema must have a type or alternatives: {schema}")
        if schema.enum and schema.type != gemini.Type.STRING:
            raise AssertionError(f"only strings have an enumeration: {schema}")
        if schema.type == gemini.Type.ARRAY and schema.items is None:
            raise AssertionError(f"a list needs `items`: {schema}")
        for part in [*(schema.properties or {}).values(), *(schema.any_of or []), schema.items]:
            self.schema(part)

    def response(self, names):
        calls = [{"functionCall": {"id": f"c{index}", "name": name, "args": {}}} for index, name in enumerate(names)]
        return {"candidates": [{"content": {"role": "model", "parts": calls}, "finishReason": "STOP"}]}

    def send(self, tools, turn):
        user = gemini.Content.model_validate({"role": "user", "parts": [{"text": USER}]})
        contents = [user, *(gemini.Content.model_validate(message) for message in turn)]
        disabled = gemini.AutomaticFunctionCallingConfig(disable=True)
        config = gemini.GenerateContentConfig(
            tools=[gemini.Tool.model_validate(tool) for tool in tools], automatic_function_calling=disabled
        )
        response = self.client.models.generate_content(model="m", contents=contents, config=config)
        return response.model_dump(mode="json", by_alias=True, exclude_none=True)

    def messages(self, response, messages):
        return [response["candidates"][0]["content"], *messages]


def check(ours, endpoint, api, tools, strict):
    made = ours(api=api.api, strict=strict, tools=tools)
    names = api.declared(made["tools"])
    same("the number of tools", len(names), len(tools))
    # The package's own idea of strict mode has nothing to add.
    for function in strict_parts(made["tools"]):
        converted = copy.deepcopy(function["parameters"])
        openai_strict._ensure_strict_json_schema(converted, path=(), root=converted)
        same(f"{function['name']} in strict mode", function["parameters"], converted)
    endpoint.response = api.response(names)
    response = api.send(made["tools"], [])
    same("what the package sends", api.sent(endpoint.body["tools"]), api.sent(made["tools"]))
    back = ours(api=api.api, strict=strict, tools=tools, response=response, result=RESULT)
    same("the calls", [call["name"] for call in back["calls"]], [tool["name"] for tool in tools])
    same("their arguments", [call["arguments"] for call in back["calls"]], ["{}"] * len(tools))
    api.send(made["tools"], api.messages(response, back["messages"]))
    return len(strict_parts(made["tools"])), len(made["losses"])


def main():
    warnings.simplefilter("error")
    servers, failures = json.load(sys.stdin), 0
    strict = [(Chat, True), (Responses, True)]
    with Papertape(sys.argv[1]) as ours, Endpoint() as endpoint:
        for api, is_strict in [*((api, False) for api in (Chat, Responses, Anthropic, Gemini)), *strict]:
            said, problems = checked(ours, endpoint, api(endpoint), servers, is_strict)
            print("FAILED" if problems else "ok", "", said, flush=True)
            print(*problems, sep="\n", end="\n" if problems else "", flush=True)
            failures += bool(problems)
        endpoint.shutdown()
    return f"{failures} failed" if failures else None


def checked(ours, endpoint, api, servers, strict):
    """What was checked, and what failed."""
    problems, counts = [], [0, 0]
    for server, tools in servers.items():
        try:
            counts = [one + two for one, two in zip(counts, check(ours, endpoint, api, tools, strict))]
        except Exception as error:
            problems.append(f"  {server}: {type(error).__name__}: {error}")
    if strict and not counts[0]:
        problems.append("  no tool is declared in strict mode")
    mode = f", strict: {counts[0]} of" if strict else ":"
    return f"{api.name} {api.versions}{mode} {sum(map(len, servers.values()))} tools, {counts[1]} losses", problems


sys.exit(main())
