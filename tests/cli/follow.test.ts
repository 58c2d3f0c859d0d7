import { afterEach, beforeEach, describe, expect, spyOn, test } from "bun:test";
import { join } from "node:path";
import { followRequests, POLL_MS } from "#cli/commands/requests.ts";
import { Refusal } from "#cli/screen/failure.ts";
import { ProxyError } from "#kernel/errors.ts";
import { startApp, type TestApp } from "../support/app.ts";
import { makeFolder } from "../support/folder.ts";
import { startUpstream, type ScriptedUpstream } from "../support/upstream.ts";
import { waysTo } from "./both-ways.ts";
import { runLocal } from "./terminal.ts";

const TEST_MS_MAX = 40_000;
/** Between two looks at the log, here. */
const SHORT_POLL_MS = 50;
const wait = globalThis.setTimeout;
/** Shortens the pause of the follower alone: other limits, such as those of PostgreSQL's calls, may be as long. */
const waitLess = ((handler: () => void, ms?: number) =>
  wait(handler, ms === POLL_MS && isOfFollower() ? SHORT_POLL_MS : ms)) as typeof setTimeout;
const isOfFollower = () => new Error().stack?.includes("/cli/commands/requests.ts") === true;

let folder: ReturnType<typeof makeFolder>;
let dataDir: string;
let upstream: ScriptedUpstream;
let app: TestApp;

let sooner: { mockRestore(): void };
beforeEach(async () => {
  sooner = spyOn(globalThis, "setTimeout").mockImplementation(waitLess);
  folder = makeFolder();
  dataDir = join(folder.path, "data");
  upstream = await startUpstream();
  app = await startApp({ dataDir });
  await app.api("POST", "/admin/v1/providers", { name: "up", base_url: upstream.baseUrl });
  for (const alias of ["slow", "quick"]) {
    await app.api("POST", "/admin/v1/models", { alias, provider: "up", upstream_name: alias });
  }
});
afterEach(async () => {
  sooner.mockRestore();
  await app.stop();
  await upstream.stop();
  folder.remove();
});

const ask = (model: string) => app.api("POST", "/v1/chat/completions", { model, messages: [] });
async function answerNext(): Promise<void> {
  await (await upstream.nextCall()).reply({ body: '{"id":"1","choices":[]}' });
}

const BUSY_COUNT = 700;
async function askMany(count: number): Promise<void> {
  for (let asked = 0; asked < count; asked += 50) {
    const asking = Array.from({ length: 50 }, () => ask("quick"));
    for (const _ of asking) await answerNext();
    await Promise.all(asking.map(async (each) => (await each).arrayBuffer()));
  }
}

/** Collects what a follower shows, as it comes. */
function createShown() {
  const models: string[] = [];
  const waiting = new Set<() => void>();
  return {
    models,
    onData: (text: string) => {
      models.push(JSON.parse(text).model);
      for (const look of waiting) look();
    },
    async count(wanted: number): Promise<void> {
      const { promise, resolve } = Promise.withResolvers<void>();
      const look = () => {
        if (models.length >= wanted) resolve();
      };
      waiting.add(look);
      look();
      await promise;
    },
  };
}

describe("requests tail -f", () => {
  test(
    "shows a request that arrived long before others when it has ended, and none twice",
    async () => {
      for (const way of waysTo(app)) {
        const slow = ask("slow");
        const held = await upstream.nextCall();
        const quick = ask("quick");
        await answerNext();
        await quick;
        const end = new AbortController();
        const shown = createShown();
        const running = way.run("requests tail -f -n 1 --json", { end: end.signal, onData: shown.onData });
        await shown.count(1);
        await held.reply({ body: '{"id":"1","choices":[]}' });
        await slow;
        await shown.count(2);
        const last = ask("quick");
        await answerNext();
        await last;
        await shown.count(3);
        end.abort();
        expect(await running).toMatchObject({ code: 0, messages: "" });
        expect({ way: way.name, models: shown.models }).toEqual({
          way: way.name,
          models: ["quick", "slow", "quick"],
        });
      }
    },
    TEST_MS_MAX,
  );

  test(
    "on a busy server shows as new what ends from then on, however much the log held before, and misses none that was long under way",
    async () => {
      for (const way of waysTo(app)) {
        const slow = ask("slow");
        const held = await upstream.nextCall();
        // More than a page of what the look-back holds, before and while it is followed.
        await askMany(BUSY_COUNT);
        const end = new AbortController();
        const shown = createShown();
        const running = way.run("requests tail -f -n 1 --json", { end: end.signal, onData: shown.onData });
        await shown.count(1);
        await askMany(BUSY_COUNT);
        await shown.count(1 + BUSY_COUNT);
        await held.reply({ body: '{"id":"1","choices":[]}' });
        await slow;
        await shown.count(2 + BUSY_COUNT);
        const last = ask("quick");
        await answerNext();
        await last;
        await shown.count(3 + BUSY_COUNT);
        end.abort();
        expect(await running).toMatchObject({ code: 0, messages: "" });
        expect(shown.models).toHaveLength(3 + BUSY_COUNT);
        expect(shown.models.filter((model) => model === "slow")).toHaveLength(1);
      }
    },
    TEST_MS_MAX,
  );

  test(
    "waits for a server that goes away, says so once, and goes on when it is back; a lost right ends it with 77",
    async () => {
      const port = Number(new URL(app.url).port);
      const { key, id }: any = await (await app.api("POST", "/admin/v1/keys", { principal: "admin" })).json();
      const first = ask("slow");
      await answerNext();
      await first;
      const shown = createShown();
      let said = "";
      const away = Promise.withResolvers<void>();
      const running = runLocal("/nonexistent", `requests tail -f -n 1 --json --url ${app.url}`.split(" "), {
        env: { LOCKPORT_API_KEY: key },
        onData: shown.onData,
        onMessage(text) {
          said += text;
          if (said.includes("Trying again.")) away.resolve();
        },
      });
      await shown.count(1);
      await app.stop();
      await away.promise;
      app = await startApp({ dataDir, port });
      const request = ask("quick");
      await answerNext();
      await request;
      await shown.count(2);
      await app.api("DELETE", `/admin/v1/keys/${id}`);
      expect(await running).toMatchObject({ code: 77 });
      expect(shown.models).toEqual(["slow", "quick"]);
      expect(said.match(/Trying again\./g)).toHaveLength(1);
      expect(said.match(/The server answers again\./g)).toHaveLength(1);
      expect(said).toContain("(invalid_api_key)");
    },
    TEST_MS_MAX,
  );

  test.each([
    new Refusal("failure", "It is away.", "internal_error"),
    new ProxyError("internal_error", "It is away."),
  ])(
    "waits for a database that is away from the command itself, and goes on when it answers: %p",
    async (failure) => {
      const end = new AbortController();
      let [said, reads] = ["", 0];
      await followRequests({
        terminal: { writeMessage: (text) => void (said += text) },
        query: {},
        lines: 1,
        end: end.signal,
        write: () => {},
        async read() {
          reads += 1;
          if (reads === 3) throw failure;
          if (reads > 4) end.abort();
          return { body: { requests: [], total: 0 }, notices: [] };
        },
      });
      expect(said).toBe("It is away. Trying again.\nThe server answers again.\n");
    },
  );

  test("with nothing to show ends at once when it is told to", async () => {
    for (const way of waysTo(app)) {
      const end = new AbortController();
      const running = way.run("requests tail -f --json", { end: end.signal });
      end.abort();
      expect(await running).toEqual({ code: 0, data: "", messages: "" });
    }
  });
});
