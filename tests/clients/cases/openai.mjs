/** Each use of the OpenAI SDK for TypeScript, as one JSON object: case → what the SDK made of the answer. */
import { env } from "node:process";
import OpenAI from "openai";

const model = env.ALIAS;
const tools = [
  {
    type: "function",
    function: {
      name: "weather",
      parameters: { type: "object", properties: { city: { type: "string" } } },
    },
  },
];
const client = new OpenAI({ baseURL: `${env.LOCKPORT_URL}/v1`, apiKey: env.LOCKPORT_KEY, maxRetries: 0 });
const say = (content) => [{ role: "user", content }];
const tag = (name) => ({ headers: { "x-proxy-tags": `case:openai-node-${name}` } });
const toTokens = (usage) => [usage?.prompt_tokens, usage?.completion_tokens];
const toCall = ({ function: { name, arguments: text } }) => ({ name, arguments: JSON.parse(text) });

async function unary() {
  const answer = await client.chat.completions.create({ model, messages: say("greet me") }, tag("unary"));
  return { text: answer.choices[0].message.content, tokens: toTokens(answer.usage) };
}

async function stream() {
  const chunks = await client.chat.completions.create(
    { model, messages: say("greet me"), stream: true },
    tag("stream"),
  );
  const pieces = [];
  let usage;
  for await (const chunk of chunks) {
    const piece = chunk.choices[0]?.delta.content ?? "";
    if (piece !== "") pieces.push(piece);
    usage = chunk.usage ?? usage;
  }
  return { text: pieces.join(""), pieces: pieces.length, tokens: toTokens(usage) };
}

async function useTools() {
  const messages = say("the weather, please");
  const first = await client.chat.completions.create({ model, messages, tools }, tag("tools"));
  const { message } = first.choices[0];
  const [call] = message.tool_calls;
  const answered = [...messages, message, { role: "tool", tool_call_id: call.id, content: "20 degrees" }];
  const second = await client.chat.completions.create({ model, messages: answered, tools }, tag("tools"));
  return { ...toCall(call), text: second.choices[0].message.content };
}

async function streamTools() {
  const events = client.chat.completions.stream(
    { model, messages: say("the weather, please"), tools },
    tag("tools-stream"),
  );
  const { choices } = await events.finalChatCompletion();
  return toCall(choices[0].message.tool_calls[0]);
}

async function embed() {
  const { data } = await client.embeddings.create(
    { model: env.EMBEDDER, input: ["three words here", "two more"] },
    tag("embeddings"),
  );
  return { count: data.length, dimensions: data[0].embedding.length };
}

async function listModels() {
  const ids = [];
  for await (const { id } of client.models.list()) ids.push(id);
  return { ids };
}

async function failing(call) {
  try {
    await call();
    return { name: "none" };
  } catch (error) {
    return { name: error.constructor.name, status: error.status, message: error.message };
  }
}

const chat = (name, asked) => failing(() => client.chat.completions.create(asked, tag(name)));
console.log(
  JSON.stringify({
    unary: await unary(),
    stream: await stream(),
    tools: await useTools(),
    "tools-stream": await streamTools(),
    embeddings: await embed(),
    models: await listModels(),
    "unknown-model": await chat("unknown-model", { model: "nope", messages: say("greet me") }),
    "upstream-error": await chat("upstream-error", { model, messages: say("too fast") }),
    responses: await failing(() => client.responses.create({ model, input: "greet me" })),
    "no-key": await failing(() =>
      client
        .withOptions({ apiKey: "lp_nobody" })
        .chat.completions.create({ model, messages: say("greet me") }),
    ),
  }),
);
