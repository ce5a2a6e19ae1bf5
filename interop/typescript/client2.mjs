// The interop client on the official TypeScript SDK 2.x prints what it got of the grammar server as JSON.
//
// client2.mjs auto|legacy COMMAND ARGS...    over stdio
// client2.mjs auto|legacy URL                over Streamable HTTP
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";

function reach(server, args) {
  if (server.startsWith("http:")) return new StreamableHTTPClientTransport(new URL(server));
  return new StdioClientTransport({ command: server, args });
}

const [mode, server, ...args] = process.argv.slice(2);
const options = { capabilities: { elicitation: {} }, versionNegotiation: { mode } };
const client = new Client({ name: "interop", version: "1.0.0" }, options);
// Answers every question of the drill the same way, which is right once.
client.setRequestHandler("elicitation/create", async () => ({ action: "accept", content: { answer: "went" } }));
client.onerror = console.error;
const transport = reach(server, args);
await client.connect(transport);

async function call(name, args) {
  const { content, structuredContent = null, isError = false } = await client.callTool({ name, arguments: args });
  return { text: content.map((block) => block.text), structured: structuredContent, isError };
}

const seen = {
  revision: client.getNegotiatedProtocolVersion(),
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
