import { afterAll, beforeAll, describe, expect, test, afterEach, beforeEach } from "bun:test";
import { until } from "../support/waiting.ts";
import { chat, startBothWays, type BothWays, type Way } from "./both-ways.ts";
import { startApp, type TestApp } from "../support/app.ts";
import { type ResponsesProvider, startResponsesProvider } from "../support/responses-provider.ts";
import { runLocal } from "./terminal.ts";

let installation: BothWays;
/** By what became of them. */
const ids: { ok: string; refused: string } = { ok: "", refused: "" };

beforeAll(async () => {
  installation = await startBothWays();
  const { app, ways, upstream } = installation;
  for (const line of [
    `provider add up --base-url ${upstream.baseUrl} --no-api-key`,
    "model add gpt --provider up --upstream-name alpha",
  ])
    expect(await ways[0]?.run(line)).toMatchObject({ code: 0 });
  expect(await chat(app, "gpt")).toBe(200);
  expect(await chat(app, "nope")).toBe(404);
  const read = async (path: string) => JSON.parse(await (await app.api("GET", path)).text());
  ids.ok = (await read("/stats/requests")).requests[0].id;
  ids.refused = (await read("/admin/v1/refusals")).refusals[0].id;
});
afterAll(() => installation.stop());

const byEachWay = async (step: (way: Way) => Promise<void>) => {
  for (const way of installation.ways) await step(way);
};

describe("request", () => {
  test("tells the row of an answered request, as the log has it", () =>
    byEachWay(async (way) => {
      const { code, data } = await way.run(`request ${ids.ok}`);
      expect({ way: way.name, code }).toEqual({ way: way.name, code: 0 });
      for (const line of [`id: ${ids.ok}`, "model: gpt", "outcome: ok", "status_code: 200"])
        expect(data).toContain(`${line}\n`);
      const { request, refusal } = JSON.parse((await way.run(`request ${ids.ok} --json`)).data);
      expect({ id: request.id, model: request.model, refusal }).toEqual({
        id: ids.ok,
        model: "gpt",
        refusal: null,
      });
    }));

  test("tells why a request was refused, also beside the server once that has written it down", () =>
    byEachWay(async (way) => {
      // The file of the data folder is a second behind the server at most.
      await until(
        async () => (await way.run(`request ${ids.refused}`)).code === 0,
        () => `${way.name} the refusal is found`,
      );
      const { data, messages } = await way.run(`request ${ids.refused}`);
      expect(messages).toBe("");
      for (const line of [
        "outcome: refused",
        `id: ${ids.refused}`,
        "code: model_not_found",
        "principal: admin",
      ])
        expect(data).toContain(`${line}\n`);
      // A file has no model that no catalog has.
      expect(data).toContain(way.name === "through --url" ? "model: nope\n" : "model: -\n");
    }));

  test("says of an id that leads nowhere where one may be, with exit code 1", () =>
    byEachWay(async (way) => {
      for (const [id, said] of [
        ["019cdd2a-7c00-7000-8000-000000000000", "No request of the log has this id"],
        ["gpt", "This is no id of a request"],
        ["../keys", "This is no id of a request"],
      ] as const) {
        const { code, data, messages } = await way.run(["request", id]);
        expect({ way: way.name, id, code, data }).toEqual({ way: way.name, id, code: 1, data: "" });
        expect(messages).toContain(said);
        expect(messages).toContain("(request_not_found)");
      }
    }));
});

describe("a request whose usage is told later", () => {
  let provider: ResponsesProvider;
  let app: TestApp;
  beforeEach(async () => {
    provider = await startResponsesProvider();
    app = await startApp();
    await post("/admin/v1/providers", { name: "up", base_url: provider.baseUrl });
    await post("/admin/v1/models", {
      alias: "gpt",
      provider: "up",
      upstream_name: "gpt",
      capabilities: ["responses"],
    });
  });
  afterEach(async () => {
    await app.stop();
    await provider.stop();
  });

  async function post(path: string, body: object): Promise<any> {
    const response = await app.api("POST", path, body);
    expect(response.status).toBeLessThan(300);
    return response.json();
  }

  test("requests tail says pending in place of the cost of a request that is, and of no other", async () => {
    const tail = async () => {
      const line = `requests tail --model gpt --outcome ok --url ${app.url}`.split(" ");
      const { code, data } = await runLocal("/nonexistent", line, {
        env: { LOCKPORT_API_KEY: app.adminKey },
      });
      expect(code).toBe(0);
      return data
        .trimEnd()
        .split("\n")
        .slice(1)
        .map((text) => text.split(/ +/).slice(-3));
    };
    const made = await post("/v1/responses", { model: "gpt", input: "hi", background: true });
    await post("/v1/responses", { model: "gpt", input: "hi" });
    expect(await tail()).toEqual([
      ["-", "-", "pending"],
      ["7", "4", "unpriced"],
    ]);
    provider.made.get(made.id)!.status = "completed";
    await (await app.api("GET", `/v1/responses/${made.id}`)).text();
    // A report waits half a second for what has just ended.
    await until(
      async () => (await tail())[0]?.[2] !== "pending",
      () => "the poll has settled nothing",
    );
    expect(await tail()).toEqual([
      ["7", "4", "unpriced"],
      ["7", "4", "unpriced"],
      ["-", "-", "-"],
    ]);
  });
});
