import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { chat, startBothWays, type BothWays } from "./both-ways.ts";
import { runLocal, type CliRun } from "./terminal.ts";

/**
 * Everything that both ways have in common, told once: a life of an installation as command lines, played beside one
 * server and through the interface of another. `{…}` stands for what an earlier answer gave.
 */
const LIFE: readonly (readonly [line: string, code: number, stdin?: string])[] = [
  ["provider add up --base-url {upstream} --api-key-file - --max-concurrency 4 --json", 0, "sk-upstream"],
  ["provider add up --base-url {upstream} --no-api-key", 1],
  ["provider add Bad --base-url {upstream} --no-api-key", 2],
  ["provider list", 0],
  ["provider list --json", 0],
  ["provider restore-credential up", 1],
  ["provider set up --api-key-file - --json", 0, "sk-another"],
  ["provider restore-credential up --json", 0],
  ["provider restore-credential up", 0],
  ["provider restore-credential nobody", 1],
  ["provider test up --json", 0],
  ["provider test up --api-key-file - --timeout-read 5", 0, "sk-typed"],
  ["provider test up --base-url http://127.0.0.1:9/v1", 1],
  ["provider test up --base-url nonsense", 2],
  ["provider test nobody", 1],
  ["provider set up --timeout-read 20.5 --no-api-key --endpoint chat={upstream}/own --json", 0],
  ["provider restore-credential up", 1],
  ["provider set up --no-endpoints --max-concurrency 0 --json", 0],
  ["provider set up", 2],
  ["provider set nobody --max-concurrency 1", 1],
  ["provider disable up --json", 0],
  ["provider enable up", 0],
  ["provider discover up", 0],
  ["provider discover up --json", 0],
  ["provider discover up --bind --model alpha --json", 0],
  ["provider discover up --bind --hidden", 1],
  ["provider discover up --bind --model nothing", 1],
  ["provider discover nobody", 1],
  [
    "model add gpt --provider up --upstream-name org/gpt-x --price input_tokens=2.5 --price output_tokens=10 --json",
    0,
  ],
  ["model add --provider up --upstream-name plain", 0],
  ["model add gpt --provider up --upstream-name other", 1],
  ["model add b --provider nobody --upstream-name other", 1],
  ["model alias team/fast:v1 gpt --hidden --json", 0],
  ["model alias x nothing", 1],
  ["model list", 0],
  ["model list --json", 0],
  ["model list --provider nobody --json", 0],
  ["model set team/fast:v1 --no-hidden --json", 0],
  ["model info team/fast:v1", 0],
  ["model info team/fast:v1 --json", 0],
  ["model set gpt --price cached_input_tokens=1", 0],
  ["model set gpt --hidden --json", 0],
  ["model show gpt --json", 0],
  ["model hide gpt --json", 0],
  ["model set gtp --hidden", 1],
  ["pricing load --list-prices --dry-run", 0],
  ["model set team/fast:v1 --hidden", 0],
  ["model resolve team/fast:v1 --stream", 0],
  ["model resolve team/fast:v1 --json", 0],
  ["model resolve gpt --endpoint embeddings", 1],
  ["model resolve gpt --endpoint audio", 2],
  ["model resolve nothing", 1],
  ["model rename plain team/plain", 0],
  ["model rename team/plain gpt", 1],
  ["model rename nothing other", 1],
  ["model remove gpt --yes", 1],
  ["model remove team/plain --yes --json", 0],
  ["model remove team/plain --yes", 1],
  ["model delete team/plain", 1],
  [
    "pricing load - --json",
    0,
    '{"version":"2026-03","entries":[{"model":"gpt","unit":"cached_input_tokens","price_per_million":0.25}]}',
  ],
  ["pricing load -", 1, '{"version":"2026-03","entries":[{"model":"gpt","unit":"x","price_per_million":1}]}'],
  ["pricing load -", 1, '{"version":"2026-03","entries":[],"extra":1}'],
  ["pricing load -", 1, "not json"],
  ["pricing show", 0],
  ["pricing show --model gpt --json", 0],
  ["principal create ada --role admin --json", 0],
  ["principal create ci --kind service", 0],
  ["principal create ada", 1],
  ["principal create x --role owner", 2],
  ["principal list", 0],
  ["principal list --json", 0],
  ["principal revoke-sessions ada --yes --json", 0],
  ["principal set ada --role member", 0],
  ["principal set ci --role admin --json", 0],
  ["principal set ci", 2],
  ["principal set ci --tag team:search --tag Env:Prod", 0],
  ["principal set ci --tag team", 2],
  ["principal set ci --tag team:a --clear-tags", 2],
  ["principal list", 0],
  ["principal set nobody --role admin", 1],
  ["principal disable ada", 0],
  ["principal enable ada --json", 0],
  ["principal disable nobody", 1],
  ["principal delete ci --yes --json", 0],
  ["principal delete ci --yes", 1],
  ["principal delete admin --yes", 1],
  ["principal revoke-sessions nobody", 1],
  ["key create --principal ada --label laptop --json", 0],
  ["key create --principal ada", 0],
  ["key create --principal nobody", 1],
  ["key list --principal ada", 0],
  ["key list --principal ada --json", 0],
  ["key list --principal nobody", 1],
  ["key set {key} --expires 30d --models gpt,later --label desk --json", 0],
  ["key set {key} --pause", 0],
  ["key set {key} --scope inference --json", 0],
  ["key set {key} --scope none", 2],
  ["key create --principal ada --scope inference", 0],
  ["key list --principal ada", 0],
  ["key set {key} --never-expires --all-models --resume --scope full --json", 0],
  ["key set {key} --expires 2020-01-01T00:00:00Z", 2],
  ["key set nothing --pause", 1],
  ["key rotate {key} --json", 0],
  ["key rotate {key} --grace 12h", 0],
  ["key rotate nothing", 1],
  ["relay-token set nothing --pause", 1],
  ["key delete {key} --yes", 0],
  ["key delete {key} --yes", 1],
  ["key delete {key}", 1],
  ["relay-token list --json", 0],
  ["relay-token list --principal nobody", 1],
  ["relay-token list --principal ada", 0],
  ["relay-token delete nothing", 1],
  ["relay-token delete nothing --yes", 1],
  ["limit list", 0],
  ["limit set everyone --amount 20 --per day --each principal", 0],
  ["limit set everyone --amount 25 --warn", 0],
  ["limit set everyone --amount 25 --json", 0],
  ["limit set everyone --measure requests", 1],
  ["limit set everyone --principal ada", 1],
  ["limit set gpt --amount 2 --measure concurrent --model gpt --json", 0],
  ["limit set gpt --per day", 2],
  ["limit set ada --amount 500 --per month --principal ada --unpriced refuse --disable", 0],
  ["limit set ada --amount 0", 2],
  ["limit set nobody --amount 1 --per day --principal nobody", 1],
  ["limit set k --amount 60 --measure requests --per minute --key nothing", 1],
  ["limit set k --per minute", 2],
  ["limit set k --amount 1 --per day --key a --tag b:c", 2],
  ["limit list", 0],
  ["limit list --principal ada --json", 0],
  ["limit show everyone", 0],
  ["limit show ada --json", 0],
  ["limit show nothing", 1],
  ["limit rename gpt two", 0],
  ["limit rename two ada", 1],
  ["limit remove two --yes --json", 0],
  ["limit remove two --yes", 1],
  ["usage --json", 0],
  ["requests tail", 0],
  ["requests tail --outcome failde", 2],
  ["pricing missing --json", 0],
  ["provider remove up --yes --json", 0],
  ["provider remove up", 1],
];

let beside: BothWays;
let through: BothWays;
beforeAll(async () => {
  [beside, through] = await Promise.all([startBothWays(), startBothWays()]);
});
afterAll(async () => {
  await Promise.all([beside.stop(), through.stop()]);
});

/** Replaces what differs between installations: ids, instants, secrets and the upstream's address. */
function withoutChance(text: string, { upstream }: BothWays): string {
  return text
    .replaceAll(upstream.baseUrl, "{upstream}")
    .replaceAll(/[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f-]{21}/g, "{id}")
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "{instant}")
    .replaceAll(/lp_[0-9A-Za-z]{43}/g, "{key}")
    .replaceAll(/"key_suffix": "[^"]{4}"/g, '"key_suffix": "…"')
    .replaceAll(/(?<=\{id\} +\w+ +)[0-9A-Za-z]{4}(?= )/g, "…");
}

async function live(installation: BothWays, index: 0 | 1): Promise<readonly CliRun[]> {
  const way = installation.ways[index]!;
  const runs: CliRun[] = [];
  let keyId = "";
  for (const [line, code, stdin] of LIFE) {
    const words = line.replaceAll("{upstream}", installation.upstream.baseUrl).replaceAll("{key}", keyId);
    const run = await way.run(words, stdin === undefined ? {} : { stdin });
    expect({ line, way: way.name, code: run.code, messages: run.messages }).toMatchObject({ code });
    if (line.startsWith("key create") && line.endsWith("--json")) keyId = JSON.parse(run.data).id;
    if (line.endsWith("--json") && code === 0) JSON.parse(run.data);
    runs.push({
      code: run.code,
      data: withoutChance(run.data, installation),
      // A command to be typed next names the server that this one was for.
      messages: withoutChance(run.messages.replaceAll(` --url ${installation.app.url}`, ""), installation),
    });
  }
  return runs;
}

describe("a command on this machine's data folder and the same with --url", () => {
  test("say the same of everything, on stdout, on stderr and by exit code; both leave the same audit events, the one under its key's owner, the other as a local command", async () => {
    const [local, remote] = [await live(beside, 0), await live(through, 1)];
    for (const [index, [line]] of LIFE.entries()) {
      expect({ line, ...remote[index] }).toEqual({ line, ...local[index]! });
    }
    // A failed command left nothing on stdout, but for the rows of a discovery that could bind some.
    for (const [index, [line, code]] of LIFE.entries()) {
      if (code !== 0 && !line.includes("--bind --hidden"))
        expect({ line, data: local[index]!.data }).toEqual({ line, data: "" });
    }

    const events = async ({ app }: BothWays) =>
      (await (await app.api("GET", "/admin/v1/events?limit=500")).json()) as any;
    const { events: own } = await events(beside);
    expect(new Set(own.map((event: any) => event.actor))).toEqual(new Set(["(local command)"]));
    const { events: audited } = await events(through);
    expect(new Set(audited.map((event: any) => event.actor))).toEqual(new Set(["admin"]));
    const actions = (of: any) => of.map((event: any) => event.action);
    expect(actions(own)).toEqual(actions(audited));
    expect(actions(audited)).toContain("pricing.load");
  }, 180_000);
});

describe("while a server runs", () => {
  test("what a local command changes holds at the server's next request", async () => {
    const { app, upstream, ways } = beside;
    const [local] = ways;
    const run = async (line: string) => expect(await local!.run(line)).toMatchObject({ code: 0 });
    await run(`provider add live --base-url ${upstream.baseUrl} --no-api-key`);
    await run("model add live --provider live --upstream-name u");
    expect(await chat(app, "live")).toBe(200);
    await run("model rename live lively");
    expect([await chat(app, "live"), await chat(app, "lively")]).toEqual([404, 200]);
    await run("provider disable live");
    expect(await chat(app, "lively")).toBe(404);
    await run("provider enable live");
    const { data } = await local!.run("key create --principal admin --json");
    const { id, key } = JSON.parse(data);
    expect(await chat(app, "lively", { key })).toBe(200);
    await run(`key delete ${id} --yes`);
    expect(await chat(app, "lively", { key })).toBe(401);
  });
});

describe("--url", () => {
  const remote = (line: string, env: Record<string, string> = {}) =>
    runLocal("/nonexistent/lockport", line.split(" "), { env });

  test("with a server that is not there is exit code 69 and names the address", async () => {
    const { code, data, messages } = await remote("provider list --url http://127.0.0.1:1", {
      LOCKPORT_API_KEY: "lp_x",
    });
    expect({ code, data }).toEqual({ code: 69, data: "" });
    expect(messages).toStartWith("lockport: http://127.0.0.1:1 cannot be reached (");
  });

  test("without a key, with a wrong one and with a member's is exit code 77, with the server's code", async () => {
    const { app } = through;
    const list = `provider list --url ${app.url}`;
    expect(await remote(list)).toMatchObject({
      code: 77,
      messages: expect.stringContaining("LOCKPORT_API_KEY"),
    });
    const wrong = await remote(list, { LOCKPORT_API_KEY: "lp_wrong" });
    expect(wrong).toMatchObject({
      code: 77,
      data: "",
      messages: expect.stringContaining("(invalid_api_key)"),
    });
    await app.api("POST", "/admin/v1/principals", { name: "member" });
    const { key }: any = await (await app.api("POST", "/admin/v1/keys", { principal: "member" })).json();
    const member = await remote(list, { LOCKPORT_API_KEY: key });
    expect(member).toMatchObject({ code: 77, messages: expect.stringContaining("(admin_required)") });
    expect(member.messages + wrong.messages).not.toContain(key);
    // Anybody of the team sees what the team used.
    expect((await remote(`usage --url ${app.url}`, { LOCKPORT_API_KEY: key })).code).toBe(0);
  });

  test("that is no origin is exit code 2 and repeats nothing of it, and excludes --data-dir", async () => {
    for (const url of ["models.example.org", "https://u:hunter2@h", "http://h/v1", "file:///etc"]) {
      const run = await remote(`key list --url ${url}`, { LOCKPORT_API_KEY: "lp_x" });
      expect(run).toMatchObject({ code: 2, data: "" });
      expect(run.messages).not.toContain("hunter2");
    }
    expect((await remote("key list --url http://h --data-dir /tmp")).code).toBe(2);
  });

  test("sends the key to that address alone: a redirect is refused and not followed", async () => {
    const asked: string[] = [];
    const other = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      fetch: (request) => (asked.push(request.url), new Response("{}")),
    });
    const first = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      fetch: () => Response.redirect(`http://127.0.0.1:${other.port}/`, 307),
    });
    const { code, messages } = await remote(`key list --url http://127.0.0.1:${first.port}`, {
      LOCKPORT_API_KEY: "lp_x",
    });
    expect({ code, asked }).toEqual({ code: 69, asked: [] });
    expect(messages).toContain("is not a Lockport (status 307)");
    await Promise.all([first.stop(true), other.stop(true)]);
  });

  test("of something else that listens there is exit code 69, and what it says does nothing to the terminal", async () => {
    const refusal = JSON.stringify({
      error: { message: "no \u001b[2J\u202e way", code: "teapot", param: null },
    });
    for (const [body, status, code, sentence] of [
      ["<html>hello</html>", 200, 69, "is not a Lockport"],
      ["[]", 200, 69, "is not a Lockport"],
      ["{}", 200, 69, "is not a Lockport"],
      [refusal, 418, 1, String.raw`no \u001b[2J\u202e way (teapot)`],
    ] as const) {
      const server = Bun.serve({
        port: 0,
        hostname: "127.0.0.1",
        fetch: () => new Response(body, { status, headers: { "x-proxy-error-source": "proxy" } }),
      });
      const run = await remote(`key list --url http://127.0.0.1:${server.port}`, {
        LOCKPORT_API_KEY: "lp_x",
      });
      expect(run).toMatchObject({ code, data: "", messages: expect.stringContaining(sentence) });
      await server.stop(true);
    }
  });

  test("is refused with a sentence, exit code 2, by what works on the data folder only", async () => {
    for (const line of [
      "serve",
      "admin bootstrap",
      "admin login-link",
      "admin password show",
      "admin password rotate",
      "secrets rotate",
    ]) {
      const { code, data, messages } = await remote(`${line} --url http://127.0.0.1:1`);
      expect({ line, code, data }).toEqual({ line, code: 2, data: "" });
      expect(messages).toContain(`lockport ${line} works on the data folder of the machine`);
    }
  });

  test("makes relay tokens of the key's owner only, and the data folder those of anybody who is named", async () => {
    const [besideIt, throughUrl] = [...through.ways];
    await besideIt!.run("principal create ada");
    const own = await throughUrl!.run("relay-token create --label mine");
    expect(own.data).toMatch(/^lpt_[0-9A-Za-z]{43}\n$/);
    expect(await throughUrl!.run("relay-token create --principal admin")).toMatchObject({
      code: 2,
      data: "",
    });
    expect(await besideIt!.run("relay-token create")).toMatchObject({ code: 2, data: "" });
    const named = JSON.parse((await besideIt!.run("relay-token create --principal ada --json")).data);
    expect(named.principal).toBe("ada");
    expect(named.token).toMatch(/^lpt_[0-9A-Za-z]{43}$/);
    const listed = JSON.parse((await throughUrl!.run("relay-token list --json")).data);
    expect(listed.map((token: any) => token.principal)).toEqual(["admin", "ada"]);
    expect(JSON.stringify(listed)).not.toContain(named.token);
    expect((await throughUrl!.run(`relay-token delete ${named.id} --yes`)).code).toBe(0);
    expect((await besideIt!.run(`relay-token delete ${named.id} --yes`)).messages).toContain(
      "(relay_token_not_found)",
    );
  });
});
