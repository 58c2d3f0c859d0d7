/** The OpenAI SDK for TypeScript on the Responses API. Address and key come from OPENAI_BASE_URL and OPENAI_API_KEY. */
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
const tools = [{ type: "function", name: "weather", parameters, strict: true }];
const calls = [];

async function ask(request, isStreamed) {
  if (!isStreamed) return client.responses.create(request);
  return client.responses.stream(request).finalResponse();
}

async function greet(isStreamed) {
  return (await ask({ model, input: env.GREET }, isStreamed)).output_text;
}

async function useTool(isStreamed) {
  const input = [{ role: "user", content: env.USE_TOOL }];
  const first = await ask({ model, input, tools }, isStreamed);
  const call = first.output.find(({ type }) => type === "function_call");
  calls.push(JSON.parse(call.arguments));
  const { id, call_id, name, arguments: text, type } = call;
  input.push({ id, call_id, name, arguments: text, type });
  input.push({ type: "function_call_output", call_id, output: "20 degrees" });
  return (await ask({ model, input, tools }, isStreamed)).output_text;
}

console.log(
  JSON.stringify({
    unary: await greet(false),
    stream: await greet(true),
    tools: await useTool(false),
    "tools-stream": await useTool(true),
    calls,
  }),
);
