// A server on the official TypeScript SDK, for bench/call.
import { McpServer } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { z } from "zod";

serveStdio(() => {
  const server = new McpServer({ name: "echo", version: "1.0.0" });
  const about = { description: "Return the text unchanged.", inputSchema: z.object({ text: z.string() }) };
  server.registerTool("echo", about, async ({ text }) => ({ content: [{ type: "text", text }] }));
  return server;
});
