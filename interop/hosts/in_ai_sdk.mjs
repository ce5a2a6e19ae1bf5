// The Vercel AI SDK: the tools as a model gets them, called through a model that is a script, and the prompts.
//
// in_ai_sdk.mjs SERVERS    where SERVERS is what `run` makes of its servers, as JSON
import { createMCPClient } from "@ai-sdk/mcp";
import { Experimental_StdioMCPTransport as Stdio } from "@ai-sdk/mcp/mcp-stdio";
import { generateText, isStepCount } from "ai";
import { MockLanguageModelV4 } from "ai/test";

const warnings = [];
globalThis.AI_SDK_LOG_WARNINGS = ({ warnings: more }) => warnings.push(...more.map((it) => JSON.stringify(it)));

function texts(blocks) {
  const others = blocks.filter((block) => block.type !== "text");
  if (others.length) throw new Error(`there is other than text: ${JSON.stringify(others)}`);
  return blocks.map((block) => block.text).join("\n");
}

async function use({ command: [command, ...args], tool, arguments: given, prompt, fields }) {
  const onUncaughtError = (error) => warnings.push(String(error));
  const client = await createMCPClient({ transport: new Stdio({ command, args }), onUncaughtError });
  try {
    const told = [];
    const usage = { inputTokens: {}, outputTokens: {} };
    const call = { type: "tool-call", toolCallId: "1", toolName: tool, input: JSON.stringify(given) };
    // Calls the tool, and ends when it has the result.
    const model = new MockLanguageModelV4({
      async doGenerate({ tools, prompt }) {
        told.push(...tools);
        const [content, unified] = prompt.at(-1).role === "tool" ? [{ type: "text", text: "done" }, "stop"] : [call, "tool-calls"];
        return { content: [content], finishReason: { unified, raw: unified }, usage, warnings: [] };
      },
    });
    const tools = await client.tools();
    const { steps } = await generateText({ model, tools, prompt: "Call the tool.", stopWhen: isStepCount(2) });
    const failed = steps[0].content.find((part) => part.type === "tool-error");
    if (failed) throw failed.error;
    const said = prompt && (await client.getPrompt({ name: prompt, arguments: fields }));
    return {
      tools: Object.fromEntries(told.map((it) => [it.name, Object.keys(it.inputSchema.properties ?? {}).sort()])),
      called: texts(steps[0].toolResults[0].output.content),
      prompt: said && texts(said.messages.map((message) => message.content)),
    };
  } finally {
    await client.close();
  }
}

const seen = {};
for (const [name, server] of Object.entries(JSON.parse(process.argv[2]))) {
  warnings.length = 0;
  const got = await use(server).catch((error) => ({ error: error.stack }));
  seen[name] = { prompt: null, ...got, warnings: [...warnings] };
}
console.log(JSON.stringify(seen));
