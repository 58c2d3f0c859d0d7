import { afterEach, describe, expect, test } from "bun:test";
import { listKeys } from "#cli/installation/lists.ts";
import { runLocal } from "./terminal.ts";

const stops: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
});

function startOther(answer: () => Response): string {
  const server = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: answer });
  stops.push(() => server.stop(true));
  return `http://127.0.0.1:${server.port}`;
}

const run = (line: string, url: string, key = "lp_x") =>
  runLocal("/nonexistent/lockport", [...line.split(" "), "--url", url], { env: { LOCKPORT_API_KEY: key } });

const LINES = [
  "provider list",
  "provider set up --timeout-read 5",
  "provider add up --base-url http://127.0.0.1:9/v1",
  "provider disable up",
  "provider remove up",
  "provider discover up",
  "model list",
  "model set gpt --hidden",
  "model remove gpt",
  "model resolve gpt",
  "pricing show",
  "principal list",
  "principal create ada",
  "principal revoke-sessions ada",
  "key list",
  "key create --principal ada",
  "key delete k",
  "relay-token list",
  "relay-token create",
  "relay-token delete t",
  "usage",
  "requests tail",
  "export",
];

describe("what answers under --url and is not a Lockport", () => {
  test("is exit code 69 and said in a sentence, whatever the command and the JSON", async () => {
    const bodies = [
      '{"status":"ok"}',
      '{"object":"list","data":[]}',
      '"text"',
      "null",
      "12",
      "",
      "<!doctype html><p>hello</p>",
    ];
    for (const body of bodies) {
      const url = startOther(() => new Response(body));
      for (const line of LINES) {
        const { code, data, messages } = await run(line, url);
        expect({ line, body, code, data }).toEqual({ line, body, code: 69, data: "" });
        expect(messages).toContain(`What answers at ${url} is not a Lockport`);
      }
    }
  });

  test("is exit code 69 also where only something inside is not of the shape", async () => {
    const body = JSON.stringify({
      ...Object.fromEntries(
        ["keys", "providers", "models", "requests", "usage", "series"].map((f) => [f, [1]]),
      ),
      principals: {},
      relay_tokens: "none",
      entries: null,
      total: "many",
    });
    const url = startOther(() => new Response(body));
    for (const line of [
      "key list",
      "provider list",
      "model list",
      "principal list",
      "usage",
      "requests tail",
    ]) {
      const { code, data, messages } = await run(line, url);
      expect({ line, code, data }).toEqual({ line, code: 69, data: "" });
      expect(messages).toContain("is not a Lockport");
    }
  });

  test("and refuses in an envelope like ours, but without our header, is not taken at its word", async () => {
    const body = JSON.stringify({
      error: { message: "Send your key to example.org.", code: "x", param: null },
    });
    const url = startOther(() => new Response(body, { status: 404 }));
    const { code, messages } = await run("key list", url);
    expect(code).toBe(69);
    expect(messages).toContain("is not a Lockport (status 404)");
    expect(messages).not.toContain("example.org");
  });

  test("and refuses for want of a right is exit code 69 too: that right is not this server's", async () => {
    for (const status of [401, 403]) {
      const url = startOther(() => new Response("Who are you?", { status }));
      const { code, data, messages } = await run("key list", url);
      expect({ status, code, data }).toEqual({ status, code: 69, data: "" });
      expect(messages).toContain(`is not a Lockport (status ${status})`);
    }
  });

  test("and whose answer has no end is left at a limit", async () => {
    const chunk = new Uint8Array(1024 * 1024).fill(32);
    const url = startOther(
      () => new Response(new ReadableStream({ pull: (controller) => controller.enqueue(chunk) })),
    );
    const { code, data, messages } = await run("key list", url);
    expect({ code, data }).toEqual({ code: 69, data: "" });
    expect(messages).toContain("holds more than 64.0 MB");
  }, 30_000);
});

test("a list that goes on page after page is left at a limit", async () => {
  const ts = "2026-03-01T00:00:00.000000Z";
  const key = { id: "k", principal: "p", key_suffix: "abcd", label: "", created_at: ts, last_used_at: null };
  const keys = Array.from({ length: 500 }, () => key);
  // Over a socket and read by their shape two thousand pages take as long as a folder of tests.
  const client: any = { call: async () => ({ keys, limit: 500, offset: 0, total: 1e9 }) };
  const cause: unknown = await listKeys(client, { principal: undefined }).catch((thrown: unknown) => thrown);
  expect(cause).toMatchObject({
    kind: "unreachable",
    message: "The list of keys has more than 1000000 rows: what answers is not a Lockport.",
  });
});

describe("a LOCKPORT_API_KEY that could not be one", () => {
  test("is exit code 77, is not shown and is not sent", async () => {
    let asked = 0;
    const url = startOther(() => ((asked += 1), new Response("{}")));
    for (const key of ["lp_hunter2 x", "lp_hunter2\nx", "lp_hunter2\u00fc", "lp_hunter2\u{1f511}"]) {
      const { code, data, messages } = await run("key list", url, key);
      expect({ key, code, data }).toEqual({ key, code: 77, data: "" });
      expect(messages).toStartWith("lockport: LOCKPORT_API_KEY is not an API key");
      expect(messages).not.toContain("hunter2");
    }
    expect(asked).toBe(0);
  });
});

test("lockport health says no to an answer without an end, and to one that is no JSON", async () => {
  const chunk = new Uint8Array(64 * 1024).fill(32);
  for (const body of [
    () => new ReadableStream({ pull: (controller) => controller.enqueue(chunk) }),
    () => "<p>ok</p>",
    () => '{"status":"fine"}',
  ]) {
    const url = startOther(() => new Response(body()));
    expect(await run("health", url)).toMatchObject({ code: 69, data: "" });
  }
});
