/**
 * The main job in under a minute, without an account anywhere: `npm run demo` (`-- --keep` leaves it running).
 * A model server of our own plays the provider; everything else is what a user would type and call.
 */
import OpenAI from "openai";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { writeBuiltPage } from "../build/cache.ts";
import { buildPage } from "../build/page.ts";
import { runLockport, startLockport } from "./lockport-process.ts";
import { startModelServer } from "./model-server.ts";

const keep = process.argv.includes("--keep");
const dataDir = mkdtempSync(join(tmpdir(), "lockport-demo-"));

// A server looks for the page when it starts.
if (keep) writeBuiltPage(await buildPage());
const models = await startModelServer({ port: 0 });
const server = startLockport({ dataDir, port: "0" });
try {
  step("A provider, an alias with prices, and a key: lockport's own commands");
  const adminKey = lockport("admin", "bootstrap");
  lockport("provider", "add", "demo", "--base-url", models.baseUrl, "--no-api-key");
  lockport(
    "model",
    "add",
    "small",
    "--provider",
    "demo",
    "--upstream-name",
    "demo-model-1",
    ...prices(0.5, 1.5),
  );
  lockport("principal", "create", "ada");
  const key = lockport("key", "create", "--principal", "ada", "--label", "demo");

  const url = await server.url;
  const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: key });

  step(`A completion through the official SDK, at ${url}/v1`);
  const messages = [{ role: "user" as const, content: "Say hello to a person who reads this." }];
  const unary = await client.chat.completions.create({ model: "small", messages });
  console.log(unary.choices[0]?.message.content);

  step("The same, streamed");
  for await (const chunk of await client.chat.completions.create({
    model: "small",
    messages,
    stream: true,
  })) {
    process.stdout.write(chunk.choices[0]?.delta.content ?? "");
  }
  console.log();

  step("What was recorded: GET /admin/v1/requests (metadata and numbers, never content)");
  const response = await fetch(`${url}/admin/v1/requests`, {
    headers: { authorization: `Bearer ${adminKey}` },
  });
  const { requests }: { requests: LoggedRequest[] } = JSON.parse(await response.text());
  console.table(requests.map(toRow));
  if (requests.length !== 2) throw new Error(`two events were to be recorded, not ${requests.length}`);

  if (keep) {
    step("Left running, until Ctrl-C");
    console.log(
      `  sign in    ${runLockport(dataDir, ["admin", "login-link"])}\n  API key    ${key}\n  admin key  ${adminKey}\n  data       ${dataDir}`,
    );
    console.log(
      `  try        curl -s ${url}/v1/chat/completions -H 'authorization: Bearer ${key}' -H 'content-type: application/json' -d '{"model":"small","messages":[{"role":"user","content":"hi"}]}'`,
    );
    await new Promise<void>((resolve) => process.once("SIGINT", resolve).once("SIGTERM", resolve));
  }
} finally {
  await server.stop();
  await models.stop();
  rmSync(dataDir, { recursive: true, force: true });
}

interface LoggedRequest {
  readonly ts: string;
  readonly principal: string;
  readonly provider: string;
  readonly model: string;
  readonly streamed: boolean;
  readonly status_code: number;
  readonly outcome: string;
  readonly duration_ms: number;
  readonly cost: number | null;
  readonly units: { readonly input_tokens?: number; readonly output_tokens?: number };
}

function toRow(request: LoggedRequest) {
  return {
    when: request.ts.slice(11, 19),
    who: request.principal,
    model: request.model,
    provider: request.provider,
    streamed: request.streamed,
    outcome: `${request.status_code} ${request.outcome}`,
    "tokens in": request.units.input_tokens,
    "tokens out": request.units.output_tokens,
    cost: request.cost === null ? "unpriced" : `$${request.cost.toFixed(8)}`,
    "took ms": Math.round(request.duration_ms),
  };
}

/** Runs one of lockport's commands as a user would, shows it, and returns what it printed on stdout. */
function lockport(...args: string[]): string {
  console.log(`  $ lockport ${args.join(" ")}`);
  return runLockport(dataDir, args);
}

function prices(input: number, output: number): string[] {
  return ["--price", `input_tokens=${input}`, "--price", `output_tokens=${output}`];
}

function step(title: string): void {
  console.log(`\n${title}`);
}
