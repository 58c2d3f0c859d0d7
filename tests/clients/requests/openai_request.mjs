/** One request with the OpenAI SDK for TypeScript, and what became of it. */
import { env } from "node:process";
import OpenAI from "openai";

const client = new OpenAI({
  baseURL: `${env.LOCKPORT_URL}/v1`,
  apiKey: env.LOCKPORT_KEY,
  ...(env.RETRIES && { maxRetries: Number(env.RETRIES) }),
});
const startedMs = performance.now();
const elapsedMs = () => performance.now() - startedMs;
try {
  const answer = await client.chat.completions.create({
    model: env.MODEL,
    messages: [{ role: "user", content: "Hello" }],
  });
  console.log(
    JSON.stringify({ name: "none", text: answer.choices[0].message.content, elapsedMs: elapsedMs() }),
  );
} catch (error) {
  const { status, message, code } = error;
  console.log(
    JSON.stringify({ name: error.constructor.name, status, code, message, elapsedMs: elapsedMs() }),
  );
}
