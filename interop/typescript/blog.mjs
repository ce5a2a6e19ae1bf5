// A client on the official TypeScript SDK 2.x prints what it got of the blog server, over this project's docs, as JSON.
//
// blog.mjs auto|legacy COMMAND ARGS...    over stdio
// blog.mjs auto|legacy URL                over Streamable HTTP
import { isDeepStrictEqual } from "node:util";

import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";

const QUESTIONS = ["how do I close a client", "¿funciona en Windows?", "退出码的含义"];

const [mode, server, ...args] = process.argv.slice(2);
const client = new Client({ name: "interop", version: "1.0.0" }, { versionNegotiation: { mode } });
client.onerror = console.error;
const transport = server.startsWith("http:")
  ? new StreamableHTTPClientTransport(new URL(server))
  : new StdioClientTransport({ command: server, args });
await client.connect(transport);

const call = (name, args) => client.callTool({ name, arguments: args });
const found = [];
for (const query of QUESTIONS) found.push(await call("search_blog", { query }));
const first = found.map((answer) => answer.structuredContent.hits[0]);
const { source, chunk_index, preview, matches } = first[1];
const chunk = (await call("read_chunk", { source, chunk_index })).content[0].text;
const missing = await call("read_chunk", { source, chunk_index: 999 });
const resources = [];
let cursor;
do {
  const page = await client.listResources({ cursor });
  resources.push(...page.resources.map((resource) => resource.uri));
  cursor = page.nextCursor;
} while (cursor);
const isSame = ({ content: [{ text }], structuredContent }) =>
  isDeepStrictEqual(JSON.parse(text), structuredContent) && !text.includes("\\u");

const seen = {
  revision: client.getNegotiatedProtocolVersion(),
  server: client.getServerVersion().name,
  tools: (await client.listTools()).tools.map((tool) => tool.name),
  first: first.map((hit) => hit.source),
  mode: found[0].structuredContent.mode,
  same: found.every(isSame),
  chunk: matches.length > 0 && matches.every((word) => chunk.includes(word) && preview.includes(word)),
  missing: missing.isError ? missing.content[0].text.replace(/\d+$/, "") : "",
  resources: resources.sort(),
  resource: (await client.readResource({ uri: "blog:///zh/guide.md" })).contents[0].text.split("\n")[0],
  prompt: (await client.getPrompt({ name: "answer_from_blog", arguments: { question: QUESTIONS[1] } })).messages
    .map((message) => message.content.type)
    .slice(0, 2),
};
// What is under way when a client closes, it reports as aborted.
client.onerror = undefined;
await transport.terminateSession?.();
await client.close();
console.log(JSON.stringify(seen));
