import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { join } from "node:path";
import { startApp } from "../support/app.ts";
import { makeFolder } from "../support/folder.ts";
import { runLocal } from "./terminal.ts";

test("ledger check works beside a running server and without one, ends with 1 for what does not add up, and changes nothing", async () => {
  const folder = makeFolder();
  const dataDir = join(folder.path, "data");
  const none = await runLocal(dataDir, ["ledger", "check"]);
  expect(none).toMatchObject({ code: 78, data: "" });
  expect(none.messages).toContain("There is no ledger in");

  const app = await startApp({ dataDir });
  await app.api("POST", "/admin/v1/providers", { name: "gone", base_url: "http://127.0.0.1:9/v1" });
  await app.api("POST", "/admin/v1/models", { alias: "fast", provider: "gone", upstream_name: "m" });
  for (let count = 0; count < 3; count += 1) {
    const answer = await app.api("POST", "/v1/chat/completions", { model: "fast", messages: [] });
    expect(answer.status).toBe(502);
  }
  // A report is asked for after what has ended is committed.
  await (await app.api("GET", "/stats/requests")).text();
  const beside = await runLocal(dataDir, ["ledger", "check", "--json"]);
  expect(beside.code).toBe(0);
  expect(JSON.parse(beside.data)).toEqual({
    ok: true,
    events: 3,
    rows_from: null,
    journal: { checked_requests: 3, waiting_requests: 0, waiting_bytes: 0 },
    findings: [],
  });
  await app.stop();

  const database = new Database(join(dataDir, "usage.db"));
  database.run("DELETE FROM event WHERE id = (SELECT min(id) FROM event)");
  database.close();
  const { code, data, messages } = await runLocal(dataDir, ["ledger", "check"]);
  expect(code).toBe(1);
  expect(data).toContain("added up: 2 requests");
  expect(data).toContain("ends that are no event: 1 request missing");
  expect(data).not.toContain("nothing is missing");
  expect(messages).toContain("The ledger does not add up in");
  folder.remove();
}, 30_000);
