"""An MCP server on stdio whose tool, resource and prompt have the same name; its tool answers with a link to a resource."""

import json
import sys

ANSWERS = {
    "initialize": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}, "resources": {}, "prompts": {}}, "serverInfo": {"name": "names", "version": "1"}},
    "tools/list": {"tools": [{"name": "notes", "inputSchema": {"type": "object"}}]},
    "tools/call": {"content": [{"type": "resource_link", "uri": "notes://linked", "name": "linked"}]},
    "resources/list": {"resources": [{"uri": "notes://listed", "name": "notes"}]},
    "prompts/list": {"prompts": [{"name": "notes", "arguments": [{"name": "topic"}]}]},
}

for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    answer = ANSWERS.get(message["method"])
    if message["method"] == "resources/read":
        uri = message["params"]["uri"]
        answer = {"contents": [{"uri": uri, "text": f"the text of {uri}"}]}
    body = {"result": answer} if answer else {"error": {"code": -32601, "message": "unknown method"}}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **body}), flush=True)
