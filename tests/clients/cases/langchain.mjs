/** Each use of LangChain for TypeScript, as one JSON object: case → what it made of the answer. */
import { HumanMessage, ToolMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { ChatOpenAI, OpenAIEmbeddings } from "@langchain/openai";
import { env } from "node:process";
import { z } from "zod";

const toConfiguration = (name) => ({
  baseURL: `${env.LOCKPORT_URL}/v1`,
  defaultHeaders: { "x-proxy-tags": `case:langchain-js-${name}` },
});
const open = (name, model = env.ALIAS) =>
  new ChatOpenAI({
    configuration: toConfiguration(name),
    apiKey: env.LOCKPORT_KEY,
    model,
    useResponsesApi: false,
    maxRetries: 0,
  });
const weather = tool(({ city, days }) => `${city}: 20 degrees for ${days} days`, {
  name: "weather",
  schema: z.object({ city: z.string(), days: z.number() }),
});
const toTokens = ({ usage_metadata: usage }) => [usage?.input_tokens, usage?.output_tokens];
const toCall = ({ tool_calls: [call] }) => ({ name: call.name, arguments: call.args });

async function collect(chunks) {
  const pieces = [];
  let whole;
  for await (const chunk of chunks) {
    if (chunk.text !== "") pieces.push(chunk.text);
    whole = whole === undefined ? chunk : whole.concat(chunk);
  }
  return { pieces, whole };
}

async function unary() {
  const answer = await open("unary").invoke("greet me");
  return { text: answer.text, tokens: toTokens(answer) };
}

async function stream() {
  const { pieces, whole } = await collect(await open("stream").stream("greet me"));
  return { text: pieces.join(""), pieces: pieces.length, tokens: toTokens(whole) };
}

async function useTools() {
  const model = open("tools").bindTools([weather]);
  const question = new HumanMessage("the weather, please");
  const first = await model.invoke([question]);
  const [call] = first.tool_calls;
  const result = new ToolMessage({ content: await weather.invoke(call.args), tool_call_id: call.id });
  return { ...toCall(first), text: (await model.invoke([question, first, result])).text };
}

async function streamTools() {
  const chunks = await open("tools-stream").bindTools([weather]).stream("the weather, please");
  return toCall((await collect(chunks)).whole);
}

async function embed() {
  const embeddings = new OpenAIEmbeddings({
    configuration: toConfiguration("embeddings"),
    apiKey: env.LOCKPORT_KEY,
    model: env.EMBEDDER,
    maxRetries: 0,
  });
  const vectors = await embeddings.embedDocuments(["three words here", "two more"]);
  return { count: vectors.length, dimensions: vectors[0].length };
}

async function failing(call) {
  try {
    await call();
    return { name: "none" };
  } catch (error) {
    return { name: error.constructor.name, status: error.status, message: error.message };
  }
}

console.log(
  JSON.stringify({
    unary: await unary(),
    stream: await stream(),
    tools: await useTools(),
    "tools-stream": await streamTools(),
    embeddings: await embed(),
    "unknown-model": await failing(() => open("unknown-model", "nope").invoke("greet me")),
    "upstream-error": await failing(() => open("upstream-error").invoke("too fast")),
  }),
);
