import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { Type } from "@sinclair/typebox";
import { Command } from "commander";
import { HAND_MADE, listRouteCommands, WITHOUT_COMMAND, toUsage } from "#cli/commands/route-commands.ts";
import { listNodes, readCommandTree } from "#cli/screen/help.ts";
import { createProgram } from "#cli/program.ts";
import { addFlags, readFlags, toRouteFlags } from "#cli/routes/flags.ts";
import { addRouteCommand } from "#cli/routes/route-command.ts";
import { listRoutes } from "#http/local.ts";
import { SILENT_TERMINAL } from "../../contrib/docs/command-line.ts";
import { chat, startBothWays, type BothWays } from "./both-ways.ts";
import { runLocal } from "./terminal.ts";

const routes = listRoutes();
const names = new Set(routes.map(({ method, path }) => `${method} ${path}`));
const tree = readCommandTree(await createProgram(SILENT_TERMINAL));
const commands = new Set(listNodes(tree).map(({ path }) => path.join(" ")));
const toWords = (usage: string) => usage.replace(/ [<[].*/, "");

describe("every declared route that is not of the data plane", () => {
  test("has a command, or stands on a list with the reason; neither list names a route or a command that is none", () => {
    const byHand = Object.values(HAND_MADE).flat();
    const made = listRouteCommands(routes).map(({ route }) => route);
    const known = [...byHand, ...made, ...Object.keys(WITHOUT_COMMAND)];
    const others = routes.filter(({ tag }) => tag !== "Models" && tag !== "Relay");
    const toName = ({ method, path }: { method: string; path: string }) => `${method} ${path}`;
    expect(others.map(toName).filter((name) => !known.includes(name))).toEqual([]);
    expect(known.filter((name, index) => !names.has(name) || known.indexOf(name) !== index)).toEqual([]);
    const usages = listRouteCommands(routes).map(({ usage }) => toWords(usage));
    expect([...Object.keys(HAND_MADE), ...usages].filter((words) => !commands.has(words))).toEqual([]);
    expect(usages.filter((words, index) => usages.indexOf(words) !== index)).toEqual([]);
  });

  test("gets the words of its path when nothing else is said", () => {
    const things = [
      { method: "GET", path: "/admin/v1/things" },
      { method: "POST", path: "/admin/v1/things" },
      { method: "PATCH", path: "/admin/v1/things/:id" },
      { method: "POST", path: "/admin/v1/things/:id/turn" },
      { method: "GET", path: "/admin/v1/things/:id/parts" },
      { method: "GET", path: "/stats/weather" },
      { method: "GET", path: "/admin/v1/providers/:name" },
    ];
    const declared = things.map((each) => Object.assign({}, routes[0]!, each));
    expect(declared.map((route) => toUsage(route, declared))).toEqual([
      "things list",
      "things create",
      "things set <id>",
      "things turn <id>",
      "things parts <id>",
      "weather",
      "provider show <name>",
    ]);
    const tagged = declared.map((route) => Object.assign({}, route, { tag: "Operation" as const }));
    expect(listRouteCommands(tagged).map(({ usage }) => usage)).toContain("things turn <id>");
  });
});

describe("the flags of a route", () => {
  const flags = toRouteFlags({
    query: [{ name: "since", schema: Type.String(), description: "Inclusive." }],
    body: Type.Object({
      label: Type.String({ description: "A label." }),
      count: Type.Optional(Type.Integer()),
      kind: Type.Optional(Type.String({ enum: ["user", "service"] })),
      tags: Type.Optional(Type.Unsafe({ type: ["array", "null"], items: { type: "string" } })),
      enabled: Type.Optional(Type.Boolean()),
      pricing: Type.Optional(
        Type.Unsafe({ type: "object", propertyNames: { enum: ["input_tokens"] }, description: "Prices." }),
      ),
      entries: Type.Optional(Type.Array(Type.Object({}))),
    }),
  });
  const read = (line: string) => {
    const command = new Command().exitOverride().configureOutput({ writeErr: () => undefined });
    addFlags(command, flags);
    command.parse(line.split(" "), { from: "user" });
    return readFlags(command, flags);
  };

  test("say each field with its type: numbers, words, lists, nothing, switches, prices and whatever else as JSON", () => {
    expect(
      read(
        '--label x --since 7d --count 3 --kind user --tags a:1 --tags b:2 --no-enabled --pricing input_tokens=2.5 --entries [{"a":1}]',
      ),
    ).toEqual({
      label: "x",
      since: "7d",
      count: 3,
      kind: "user",
      tags: ["a:1", "b:2"],
      enabled: false,
      pricing: { input_tokens: 2.5 },
      entries: [{ a: 1 }],
    });
    expect(read("--label x --no-tags --enabled")).toEqual({ label: "x", tags: null, enabled: true });
    expect(read("--label x")).toEqual({ label: "x" });
  });

  test("refuse what the field does not take", () => {
    for (const line of [
      "--count 3",
      "--label x --count few",
      "--label x --kind robot",
      "--label x --since tomorrow",
      "--label x --pricing output_tokens=1",
      "--label x --entries [",
    ])
      expect(() => read(line), line).toThrow();
  });
});

let installation: BothWays;
beforeAll(async () => {
  installation = await startBothWays();
  const { app, upstream, ways } = installation;
  for (const line of [
    `provider add up --base-url ${upstream.baseUrl} --no-api-key`,
    "model add gpt --provider up --upstream-name gpt --price input_tokens=2.5 --price output_tokens=10",
    "model set gpt --price input_tokens=3 --effective-from 2999-01-01",
    "principal create ada",
    "limit set everyone --amount 20 --per day --each principal",
  ])
    expect(await ways[1]!.run(line)).toMatchObject({ code: 0 });
  await chat(app, "gpt", { tags: "app:wiki" });
  await chat(app, "gpt", { tags: "app:wiki", content: "refuse" });
  await chat(app, "nothing");
});
afterAll(() => installation.stop());

/** Each line with its text in 80 columns, a part of its JSON, and a line of it that is refused. */
const TABLE: readonly (readonly [line: string, text: RegExp, json: object, wrong: string, code: number])[] = [
  [
    "audit",
    /TIME +ACTOR +ACTION.*CHANGE\n2026-03-11 12:00:0\d +admin +limit\.create/,
    { total: 5 },
    "--limit few",
    2,
  ],
  ["audit --limit 1", /1 of 5: --offset 1 shows the next/, { limit: 1 }, "--offset x", 2],
  ["refusals", /TIME +CODE.*\n.*model_not_fou\S+ +admin/, { total: 1 }, "--since soon", 2],
  ["errors", /rate_limit\S+ +429 +1/, { bucket: "day" }, "--outcome wat", 2],
  ["errors --outcome ok", / ok +- +200 +1 /, { bucket: "day" }, "--since 1d --until 2d", 2],
  ["breakdown --by tag:app", /wiki +2 +1 +0 +1,000 +200 +\$0\.0045/, { by: "tag:app" }, "--sort wat", 2],
  ["breakdown", /total +2 +1 +0 +1,000 +200 +\$0\.0045/, { by: "model" }, "--by wat", 1],
  ["series --bucket month", /2026-03-01 00:00:00 +2 +1/, { bucket: "month" }, "--bucket wat", 2],
  ["series --group-by model", /VALUE +REQUESTS.*\ngpt +2 /, { group_by: "model" }, "--group-by wat", 2],
  ["provider show up", /name: up\n/, { name: "up" }, "nobody", 1],
  ["limit usage everyone", /PRINCIPAL +USED.*\nadmin +0\.005 +19\.996/, { total: 1 }, "nobody", 1],
  [
    "pricing schedule --model gpt",
    /ID +EFFECTIVE FROM +MODEL +PRICING/,
    { schedule: [{ model: "gpt", pricing: { input_tokens: 3 } }] },
    "--limit x",
    2,
  ],
  ["pricing list-prices", /gpt-5 +input_tokens +1\.25/, {}, "more", 2],
  [
    "pricing preview --model gpt --pricing input_tokens=5",
    /gpt +model +2 +\$0\.0045 +\$0\.0045 +\$0\.005 +output_tokens/,
    { truncated: false },
    "--pricing nothing=1",
    2,
  ],
];

describe("a command that is made of a route", () => {
  test.each(TABLE)("%s", async (line, text, json, wrong, code) => {
    for (const way of installation.ways) {
      const shown = await way.run(line, { screens: true, columns: 80, env: { ...toEnv(), NO_COLOR: "1" } });
      expect({ line, code: shown.code }).toEqual({ line, code: 0 });
      expect(shown.data + shown.messages).toMatch(text);
      const lines = shown.data.split("\n");
      expect(lines.filter((each) => Bun.stringWidth(each) > 80)).toEqual([]);
      const { data, messages } = await way.run(`${line} --json`);
      expect(messages).toBe("");
      expect(JSON.parse(data)).toMatchObject(json);
      const words = wrong.startsWith("-") ? line : line.split(" ").slice(0, 2).join(" ");
      expect(await way.run(`${words} ${wrong}`)).toMatchObject({ code, data: "" });
    }
  });

  test("asks before a DELETE though nothing says so, and deletes nothing without --yes", async () => {
    const { app, ways } = installation;
    const { id } = JSON.parse((await ways[0]!.run("key create --principal ada --json")).data);
    const find = (name: string) => routes.find(({ method, path }) => `${method} ${path}` === name)!;
    const run = async (route: (typeof routes)[number], ...words: readonly string[]) => {
      const env = { LOCKPORT_URL: app.url, LOCKPORT_API_KEY: app.adminKey };
      const program = new Command();
      const preset = { route: "DELETE /admin/v1/keys/:id", usage: "thing delete <id>" };
      addRouteCommand(program, preset, { route, terminal: { ...SILENT_TERMINAL, env } });
      await program.parseAsync(["thing", "delete", id, ...words], { from: "user" });
    };
    const route = find("DELETE /admin/v1/keys/:id");
    const { query: _, ...untold } = route;
    const count = async () => JSON.parse((await ways[0]!.run("key list --principal ada --json")).data).length;
    const before = await count();
    expect(await run(route).catch(String)).toMatch(/The key ….*of ada.* Nothing was changed: add --yes\./);
    // A route that knows no dry run is not called.
    expect(await run(untold).catch(String)).toMatch(new RegExp(`${id}\\. Nothing was changed: add --yes\\.`));
    expect(await count()).toBe(before);
    await run(route, "--yes");
    expect(await count()).toBe(before - 1);
  });

  test("of one's own asks as the owner of its key", async () => {
    const [local, remote] = [...installation.ways];
    const { key } = JSON.parse((await local!.run("key create --principal ada --json")).data);
    const own = (line: string, input = {}) => remote!.run(line, { ...input, env: { LOCKPORT_API_KEY: key } });
    const { id } = JSON.parse((await own("my keys")).data === "" ? "{}" : (await own("my keys --json")).data)
      .keys[0];
    const made = await own("my keys create --label laptop");
    expect(made.data).toMatch(/^lp_[0-9A-Za-z]{43}\n$/);
    expect(made.messages).toContain("shown once");
    expect((await own("my keys list")).data.trim().split("\n")).toHaveLength(3);
    expect((await own(`my keys set ${id}`)).code).toBe(2);
    expect(await own(`my keys set ${id} --label desk`)).toMatchObject({
      code: 0,
      data: "",
      messages: `changed key ${id}\n`,
    });
    expect((await own("my relay-tokens create --label editor")).data).toMatch(/^lpt_/);
    expect((await own("my limits")).data).toMatch(
      /everyone +\$0\.00 +\$20\.00 +\S+ +At most \$20\.00 a day for each principal/,
    );
    expect((await own("my usage")).messages).toContain("Nothing in this window.");
    expect(JSON.parse((await own("my sessions --json")).data)).toEqual({ sessions: [] });
    expect(await own("audit")).toMatchObject({
      code: 77,
      data: "",
      messages: expect.stringContaining("(admin_required)"),
    });

    const asked = await own(`my keys delete ${id}`);
    expect(asked).toMatchObject({ code: 2, data: "" });
    expect(asked.messages).toMatch(
      /The key ….{4} .*of ada was last used [^.]*UTC\. Nothing was changed: add --yes\./,
    );
    expect((await own(`my keys delete ${id} --yes`)).code).toBe(0);
    expect((await own("my keys")).code).toBe(77);
  });

  test("of a server names --url without one, offers no --data-dir, and never tells to make a folder that would not answer either", async () => {
    const { dataDir } = installation.app;
    const nowhere = `${dataDir}/nowhere`;
    for (const words of ["my keys", "my limits", "my usage breakdown", "settings", "reprice list"]) {
      const line = words.split(" ");
      for (const [folder, ...more] of [[dataDir], [nowhere], [dataDir, "--data-dir", dataDir]] as const) {
        const { code, data, messages } = await runLocal(folder, [...line, ...more]);
        expect({ words, code, data }).toEqual({ words, code: 2, data: "" });
        expect(messages).toContain("name it with --url or LOCKPORT_URL");
        expect(messages).not.toContain("lockport serve");
      }
      expect((await runLocal(nowhere, [...line, "--help"])).data).not.toContain("--data-dir");
    }
  });
});

function toEnv() {
  return { LOCKPORT_API_KEY: installation.app.adminKey };
}
