import { Database } from "bun:sqlite";
import { afterEach, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { createChance } from "../support/chance.ts";
import { callApi, makeInstallation, provide, type Installation } from "../support/installation.ts";
import { checkLedger } from "../support/invariants.ts";
import { executable } from "../support/executable.ts";
import type { RunningProcess } from "../support/process.ts";
import { readNumber, scale } from "../support/scale.ts";
import { startUpstream, type ScriptedUpstream } from "../support/upstream.ts";

const SETUP_MS_MAX = 120_000;
const KILLS = readNumber("LOCKPORT_LIMIT_KILLS") ?? 3 * scale;
const TEST_MS_MAX = 60_000 + KILLS * 15_000;
const CALLERS = 8;
const KILL_MS_MAX = 300;
/** Ten tokens in and ten out at 5 a thousand. */
const COMPLETION = '{"choices":[],"usage":{"prompt_tokens":10,"completion_tokens":10}}';
const PRICING = { input_tokens: 5000, output_tokens: 5000 };
const COST = 0.1;
const PICO = 1e12;

let lockport: string;
let installation: Installation;
let upstream: ScriptedUpstream;

beforeAll(async () => {
  lockport = await executable();
}, SETUP_MS_MAX);
beforeEach(async () => {
  upstream = await startUpstream({ script: (call) => call.reply({ body: COMPLETION }) });
  installation = await makeInstallation(lockport);
});
afterEach(async () => {
  await installation.remove();
  await upstream.stop();
});

const api = async (server: RunningProcess, method: string, path: string, body?: unknown) =>
  JSON.parse(await (await callApi(server.url, installation.adminKey, method, path, body)).text());

/** Every caller asks one request after the other until the server is gone. */
function startCallers(server: RunningProcess): Promise<unknown> {
  const caller = async () => {
    for (;;) {
      const answer = await callApi(server.url, installation.adminKey, "POST", "/v1/chat/completions", {
        model: "m",
      });
      await answer.arrayBuffer();
    }
  };
  return Promise.allSettled(Array.from({ length: CALLERS }, caller));
}

/** The sum of the log's rows, in pico. */
function sumRows(): number {
  const database = new Database(join(installation.dataDir, "usage.db"), { readonly: true });
  try {
    const row = database
      .query<{ hi: number; lo: number }, []>("SELECT total(cost_hi) AS hi, total(cost_lo) AS lo FROM event")
      .get();
    return (row?.hi ?? 0) * 1e9 + (row?.lo ?? 0);
  } finally {
    database.close();
  }
}

describe("kills under load with a budget", () => {
  test(
    "leave a budget that refuses exactly where the events say",
    async () => {
      const chance = createChance(readNumber("LOCKPORT_SEED"));
      let server = await installation.start();
      await provide(server.url, installation.adminKey, {
        name: "up",
        baseUrl: upstream.baseUrl,
        models: { m: "um" },
        pricing: PRICING,
      });
      const draft = { name: "b", subject: {}, measure: "cost", amount: 1e9, window: "month" };
      const { id } = await api(server, "POST", "/admin/v1/limits", draft);
      for (let kill = 0; kill < KILLS; kill += 1) {
        const callers = startCallers(server);
        await Bun.sleep(chance.below(KILL_MS_MAX));
        server.signal("SIGKILL");
        await server.exited;
        await callers;

        server = await installation.start();
        const { used } = await api(server, "GET", `/admin/v1/limits/${id}`);
        expect(Math.round(used * PICO)).toBe(sumRows());
        const left = 1 + chance.below(3);
        const amount = Number((used + left * COST).toFixed(1));
        await api(server, "PATCH", `/admin/v1/limits/${id}`, { amount });
        const statuses: number[] = [];
        for (let ask = 0; ask <= left; ask += 1) {
          const answer = await callApi(server.url, installation.adminKey, "POST", "/v1/chat/completions", {
            model: "m",
          });
          await answer.arrayBuffer();
          statuses.push(answer.status);
        }
        expect(statuses).toEqual([...Array(left).fill(200), 429]);
        await api(server, "PATCH", `/admin/v1/limits/${id}`, { amount: 1e9 });
      }
      expect(await server.stop()).toBe(0);
      checkLedger(installation.dataDir, { isAtRest: true });
    },
    TEST_MS_MAX,
  );
});
