// The interop client on the official TypeScript SDK 1.x prints what it got of the grammar server as JSON.
//
// client1.mjs COMMAND ARGS...    over stdio
// client1.mjs URL                over Streamable HTTP, or the transport of 2024-11-05 if the URL ends with /sse
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { SSEClientTransport } from "@modelcontextprotocol/sdk/client/sse.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";

function reach([server, ...args]) {
  if (server.endsWith("/sse")) return new SSEClientTransport(new URL(server));
  if (server.startsWith("http:")) return new StreamableHTTPClientTransport(new URL(server));
  return new StdioClientTransport({ command: server, args });
}

const client = new Client({ name: "interop", version: "1.0.0" }, { capabilities: { elicitation: {} } });
const transport = reach(process.argv.slice(2));
// 1.x exposes the negotiated revision on its transport only.
let revision;
const told = transport.setProtocolVersion?.bind(transport);
transport.setProtocolVersion = (version) => {
  revision = version;
  told?.(version);
};
// Answers every question of the drill the same way, which is right once.
client.setRequestHandler(ElicitRequestSchema, async () => ({ action: "accept", content: { answer: "went" } }));
client.onerror = console.error;
await client.connect(transport);

async function call(name, args) {
  const { content, structuredContent = null, isError = false } = await client.callTool({ name, arguments: args });
  return { text: content.map((block) => block.text), structured: structuredContent, isError };
}

const seen = {
  revision,
  server: client.getServerVersion().name,
  tools: (await client.listTools()).tools.map((tool) => tool.name),
  conjugate: await call("conjugate", { verb: "eat", tense: "past simple", person: "3rd singular" }),
  lookup: await call("lookup_irregular_verb", { verb: "write" }),
  failing: await call("lookup_irregular_verb", { verb: "walk" }),
  read: (await client.readResource({ uri: "grammar://verb/eat" })).contents[0].text.split("\n")[0],
  prompt: (await client.getPrompt({ name: "explain_tense", arguments: { verb: "eat", tense: "past simple" } })).messages.map(
    (message) => message.role,
  ),
  drill: (await call("drill", { questions: 2, seed: 64 })).structured,
  unknown: await call("no_such_tool", {}).catch((error) => error.code),
};
// What is under way when a client closes, it reports as aborted.
client.onerror = undefined;
await transport.terminateSession?.();
await client.close();
console.log(JSON.stringify(seen));
