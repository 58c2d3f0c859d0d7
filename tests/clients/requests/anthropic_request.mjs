/** One request with the Anthropic SDK for TypeScript through the relay, and what became of it. */
import Anthropic from "@anthropic-ai/sdk";
import { env } from "node:process";

const client = new Anthropic({
  baseURL: `${env.LOCKPORT_URL}/transparent/messages/${env.LOCKPORT_KEY}`,
  apiKey: "sk-ant-own",
  ...(env.RETRIES && { maxRetries: Number(env.RETRIES) }),
});
const startedMs = performance.now();
const elapsedMs = () => performance.now() - startedMs;
try {
  const answer = await client.messages.create({
    model: env.MODEL,
    max_tokens: 16,
    messages: [{ role: "user", content: "Hello" }],
  });
  console.log(JSON.stringify({ name: "none", text: answer.content[0].text, elapsedMs: elapsedMs() }));
} catch (error) {
  const { status, message } = error;
  console.log(JSON.stringify({ name: error.constructor.name, status, message, elapsedMs: elapsedMs() }));
}
