import { afterEach, beforeEach, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { sha256Hex } from "#kernel/crypto.ts";
import { makeEmptyInstallation } from "../support/empty-installation.ts";
import { makeFolder } from "../support/folder.ts";
import { runLocal, type CliInput } from "./terminal.ts";

let folder: ReturnType<typeof makeFolder>;
let path: string;
beforeEach(async () => {
  folder = makeFolder();
  path = join(folder.path, "lockport.yaml");
  for (const name of ["one", "two"]) await makeEmptyInstallation(join(folder.path, name));
});
afterEach(() => folder.remove());

const SECRET = `lp_${"Ab3".repeat(14)}z`;
const FILE = `lockport_catalog: 1
principals:
  alice: {role: admin, tags: [team:search]}
  bot: {kind: service}
keys:
  ci:
    principal: bot
    scope: inference
    models: [a, b]
    secret_file: ci.key
limits:
  "bot: day":
    subject: {key: ci}
    measure: requests
    amount: 100
    window: day
`;

const runIn = (name: string, line: string, input?: CliInput) =>
  runLocal(join(folder.path, name), line.split(" "), input);
const exportOf = async (name: string) => (await runIn(name, "export --people")).data;

test("an installation with people, keys and limits is exported, applied to an empty one, and exported as the same bytes", async () => {
  writeFileSync(path, FILE);
  writeFileSync(join(folder.path, "ci.key"), `${SECRET}\n`);
  const dry = await runIn("one", `apply ${path} --dry-run --exit-code`);
  expect(dry).toEqual({
    code: 3,
    data: [
      "+  principal  alice     role: admin; tags: team:search",
      "+  principal  bot       kind: service",
      "+  key        ci        principal: bot; label: ci; scope: inference; models: a, b; secret from ci.key",
      "+  limit      bot: day  subject: key=ci; measure: requests; amount: 100; window: day",
      "",
    ].join("\n"),
    messages: "4 changes to make; nothing was changed\n",
  });
  expect(await exportOf("one")).not.toContain("alice");
  const done = await runIn("one", `apply ${path} --yes`);
  expect(done).toMatchObject({ code: 0, messages: "made 4 changes\n" });

  const text = await exportOf("one");
  expect(text).toContain("    models: [ a, b ]\n");
  expect(text.startsWith("# A whole Lockport: ")).toBe(true);
  for (const shown of [dry.data, done.data, text]) expect(shown).not.toContain(SECRET);
  writeFileSync(path, text);
  expect(await runIn("one", `apply ${path} --dry-run --exit-code --prune`)).toEqual({
    code: 0,
    data: "",
    messages: "nothing to change\n",
  });
  const withSecret = text.replace("    scope: inference\n", "    scope: inference\n    secret_env: CI_KEY\n");
  writeFileSync(path, withSecret);
  const elsewhere = await runIn("two", `apply ${path} --yes`, { env: { CI_KEY: SECRET } });
  expect(elsewhere.data).toContain("secret from CI_KEY");
  expect(await exportOf("two")).toBe(text);
});

test("a key without a secret is told of with what to do, and the rest is made", async () => {
  writeFileSync(path, FILE);
  const missing = await runIn("one", `apply ${path} --yes`);
  expect(missing).toMatchObject({ code: 0 });
  expect(missing.messages).toContain(
    "The key ci is not made: the file ci.key is not there. Apply the file again with it.\nThe limit bot: day is not made, since its key is not.\n",
  );
  expect(missing.messages).toContain("made 2 changes\n");
  writeFileSync(path, FILE.replace("    secret_file: ci.key\n", ""));
  expect((await runIn("one", `apply ${path} --yes`)).messages).toContain(
    "lockport key create --principal bot",
  );
});

test("what the file refers to and is no secret of a key is refused by its place, without being repeated", async () => {
  writeFileSync(path, FILE);
  writeFileSync(join(folder.path, "ci.key"), "sk-not-of-this-form");
  const refused = await runIn("one", `apply ${path} --yes`);
  expect(refused.code).toBe(1);
  expect(refused.messages).toContain("keys.ci.secret_file: ci.key holds something else.");
  expect(refused.data + refused.messages).not.toContain("sk-not-of-this-form");
  expect(await exportOf("one")).not.toContain("alice");
});

test("a key by its SHA-256 needs no secret anywhere, and what changes of a key and a limit is told field by field", async () => {
  const digest = sha256Hex(SECRET);
  writeFileSync(path, FILE.replace("secret_file: ci.key", `secret_sha256: ${digest}`));
  expect((await runIn("one", `apply ${path} --yes`)).data).toContain("secret from its SHA-256");
  writeFileSync(
    path,
    FILE.replace("secret_file: ci.key", "secret_env: CI_KEY")
      .replace("[a, b]", "[a]")
      .replace("amount: 100", "amount: 200"),
  );
  const env = { CI_KEY: `lp_${"Cd4".repeat(14)}y` };
  expect((await runIn("one", `apply ${path} --yes`, { env })).data).toBe(
    [
      "~  key    ci        models: a, b -> a; another secret from CI_KEY, and the one before ends",
      "~  limit  bot: day  amount: 100 -> 200",
      "",
    ].join("\n"),
  );
});

test("what a file does not have is told of and stays, and goes with --prune", async () => {
  writeFileSync(path, FILE);
  writeFileSync(join(folder.path, "ci.key"), SECRET);
  await runIn("one", `apply ${path} --yes`);
  writeFileSync(
    path,
    "lockport_catalog: 1\nprincipals: {alice: {role: admin, tags: [team:search]}}\nkeys: {}\nlimits: {}\n",
  );
  expect((await runIn("one", `apply ${path}`)).messages).toBe(
    "The file does not have 1 principal and 1 key and 1 limit of this installation. They stay; --prune removes them.\nnothing to change\n",
  );
  const pruned = await runIn("one", `apply ${path} --yes --prune`);
  expect(pruned.data.split("\n").map((line) => line.slice(0, 14).trim())).toEqual([
    "-  limit",
    "-  key",
    "-  principal",
    "",
  ]);
  expect(await exportOf("one")).toContain("keys: {}\n");
});

test("what goes with a pruned key or principal is named before anything is asked", async () => {
  writeFileSync(path, FILE);
  writeFileSync(join(folder.path, "ci.key"), SECRET);
  await runIn("one", `apply ${path} --yes`);
  writeFileSync(path, "lockport_catalog: 1\nkeys: {}\n");
  expect((await runIn("one", `apply ${path} --prune`)).data).toEndWith("; with it: 1 limit (bot: day)\n");
  writeFileSync(path, "lockport_catalog: 1\nprincipals: {alice: {role: admin, tags: [team:search]}}\n");
  expect((await runIn("one", `apply ${path} --prune`)).data).toEndWith(
    "kind: service; with it: 1 key (ci), 1 limit (bot: day)\n",
  );
});
