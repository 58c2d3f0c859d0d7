import { createSystemClock, type Clock } from "#kernel/clock.ts";
import { createClockAt } from "../limits/world.ts";
import { startApp, type TestApp } from "../support/app.ts";
import { startUpstream, type ScriptedUpstream } from "../support/upstream.ts";
import { runLocal, type CliInput, type CliRun } from "./terminal.ts";

/** A running server, and commands on it by either way: on its data folder beside it, or through its interface. */
export interface BothWays {
  readonly app: TestApp;
  readonly upstream: ScriptedUpstream;
  readonly ways: readonly Way[];
  stop(): Promise<void>;
}

export interface Way {
  readonly name: "beside the server" | "through --url";
  run(line: string | readonly string[], input?: CliInput): Promise<CliRun>;
}

/** Usage that the scripted upstream answers to a chat. */
const USAGE = { prompt_tokens: 1000, completion_tokens: 200, total_tokens: 1200 };

export async function startBothWays(): Promise<BothWays> {
  const upstream = await startUpstream({
    script: (call) => {
      if (call.request.method === "GET") {
        const data = ["alpha", "beta", "not an alias"].map((id) => ({ id, object: "model" }));
        return call.reply({ body: JSON.stringify({ object: "list", data }) });
      }
      if (call.request.body.toString().includes("refuse")) {
        return call.reply({ status: 429, body: JSON.stringify({ error: { type: "rate_limit_error" } }) });
      }
      return call.reply({ body: JSON.stringify({ id: "1", choices: [], usage: USAGE }) });
    },
  });
  // Noon: no window of a day, a week or a month ends while a test runs.
  const clock = createClockAt("2026-03-11T12:00:00Z");
  const app = await startApp({}, { clock });
  return {
    app,
    upstream,
    ways: waysTo(app, clock),
    async stop() {
      await app.stop();
      await upstream.stop();
    },
  };
}

export function waysTo(app: TestApp, clock: Clock = createSystemClock()): readonly [Way, Way] {
  const toWords = (line: string | readonly string[]) => (typeof line === "string" ? line.split(" ") : line);
  const nowhere = "/nonexistent/lockport";
  return [
    {
      name: "beside the server",
      run: (line, input) => runLocal(app.dataDir, toWords(line), { clock, ...input }),
    },
    {
      name: "through --url",
      // A data folder that cannot be made: whoever touched it would fail.
      run: (line, input = {}) =>
        runLocal(nowhere, [...toWords(line), "--url", app.url], {
          clock,
          ...input,
          env: { LOCKPORT_API_KEY: app.adminKey, ...input.env },
        }),
    },
  ];
}

/** A chat through the server; `model` is an alias. */
export async function chat(
  app: TestApp,
  model: string,
  { key = app.adminKey, tags = "", content = "hi" } = {},
): Promise<number> {
  const headers = { authorization: `Bearer ${key}`, "user-agent": "tests/1", "x-proxy-tags": tags };
  const response = await app.api("POST", "/v1/chat/completions", { model, messages: [{ content }] }, headers);
  await response.arrayBuffer();
  return response.status;
}
