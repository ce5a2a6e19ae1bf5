// A host on the official TypeScript SDK 2.x that uses a server as it is told, and prints what it got as JSON.
//
// host.mjs legacy|modern PLAN COMMAND ARGS...    over stdio
// host.mjs legacy|modern PLAN URL                over Streamable HTTP
//
// PLAN is JSON: which tool adds, fails, reports progress, asks the user and asks the model, each with its arguments.
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";

const [era, plan, server, ...args] = process.argv.slice(2);
const { adds, fails, counts, asks, samples } = JSON.parse(plan);
const mode = era === "modern" ? { pin: "2026-07-28" } : "legacy";
const capabilities = { elicitation: { form: {} }, sampling: {} };
const client = new Client({ name: "interop", version: "1.0.0" }, { capabilities, versionNegotiation: { mode } });

const questions = [];
client.setRequestHandler("elicitation/create", async ({ params }) => {
  questions.push(params.message);
  return { action: "accept", content: { [params.requestedSchema.required[0]]: "blue" } };
});
client.setRequestHandler("sampling/createMessage", async ({ params }) => {
  questions.push([params.messages].flat()[0].content.text);
  return { model: "none", role: "assistant", content: { type: "text", text: "Something." } };
});
// The SDK forgets a call when it reads the response, and reports progress that it has read just before as unknown.
client.onerror = (error) => /unknown token/.test(error.message) || console.error(error);
const http = server.startsWith("http:");
const transport = http ? new StreamableHTTPClientTransport(new URL(server)) : new StdioClientTransport({ command: server, args });
await client.connect(transport);

const progress = [];
const handle = transport.onmessage;
transport.onmessage = (message, extra) => {
  if (message.method === "notifications/progress") progress.push([message.params.progress, message.params.total]);
  handle(message, extra);
};

async function call([name, args], options) {
  const { content, structuredContent = null, isError = false } = await client.callTool({ name, arguments: args }, options);
  return { text: content.map((block) => block.text).join("\n"), structured: structuredContent, isError };
}

const seen = {
  revision: client.getNegotiatedProtocolVersion(),
  server: client.getServerVersion().name,
  tools: (await client.listTools()).tools.map((tool) => tool.name),
  adds: await call(adds),
  fails: await call(fails),
  counts: await call(counts, { onprogress: () => {} }),
  asks: await call(asks),
  samples: await call(samples),
  unknown: await call(["no_such_tool", {}]).catch((error) => error.code),
  progress,
  questions,
};
// What is under way when a client closes, it reports as aborted.
client.onerror = undefined;
await transport.terminateSession?.();
await client.close();
console.log(JSON.stringify(seen));
