/**
 * The OpenAI SDK for TypeScript: chat completions, or the Responses API. Address and key come from OPENAI_BASE_URL and
 * OPENAI_API_KEY.
 */
import OpenAI from "openai";
import { env } from "node:process";

const client = new OpenAI();
const model = env.MODEL;
const parameters = {
  type: "object",
  properties: { city: { type: "string" }, days: { type: "number" } },
  required: ["city", "days"],
  additionalProperties: false,
};
const calls = [];
const say = (content) => ({ role: "user", content });

async function complete(request, isStreamed) {
  const { completions } = client.chat;
  const { choices } = isStreamed
    ? await completions.stream(request).finalChatCompletion()
    : await completions.create(request);
  return choices[0].message;
}

const chat = {
  async greet(isStreamed) {
    return (await complete({ model, messages: [say(env.GREET)] }, isStreamed)).content;
  },
  async useTool(isStreamed) {
    const tools = [{ type: "function", function: { name: "weather", parameters } }];
    const messages = [say(env.USE_TOOL)];
    const message = await complete({ model, messages, tools }, isStreamed);
    const [call] = message.tool_calls;
    calls.push(JSON.parse(call.function.arguments));
    messages.push(message, { role: "tool", tool_call_id: call.id, content: "20 degrees" });
    return (await complete({ model, messages, tools }, isStreamed)).content;
  },
};

async function respond(request, isStreamed) {
  if (!isStreamed) return client.responses.create(request);
  return client.responses.stream(request).finalResponse();
}

const responses = {
  async greet(isStreamed) {
    return (await respond({ model, input: env.GREET }, isStreamed)).output_text;
  },
  async useTool(isStreamed) {
    const tools = [{ type: "function", name: "weather", parameters, strict: true }];
    const input = [say(env.USE_TOOL)];
    const first = await respond({ model, input, tools }, isStreamed);
    const call = first.output.find(({ type }) => type === "function_call");
    calls.push(JSON.parse(call.arguments));
    const { id, call_id, name, arguments: text, type } = call;
    input.push({ id, call_id, name, arguments: text, type });
    input.push({ type: "function_call_output", call_id, output: "20 degrees" });
    return (await respond({ model, input, tools }, isStreamed)).output_text;
  },
};

const api = env.API === "chat" ? chat : responses;
console.log(
  JSON.stringify({
    unary: await api.greet(false),
    stream: await api.greet(true),
    tools: await api.useTool(false),
    "tools-stream": await api.useTool(true),
    calls,
  }),
);
