import { expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { CLIENTS_PAGE, toClientsPage } from "../../contrib/docs/clients.ts";
import { GROUPS } from "../../contrib/clients/groups.ts";
import { CLIENT_TABLE } from "../clients/table.ts";

const ROOT = join(import.meta.dir, "../..");

test("the page of clients says what the table of the tests says, in the versions that are installed", async () => {
  expect(await Bun.file(join(ROOT, CLIENTS_PAGE)).text()).toBe(toClientsPage());
});

test("every client of the table has its program, and every installed group a client in the table", () => {
  for (const { program, media } of CLIENT_TABLE) {
    const files = [
      typeof program === "string" ? `quickstarts/${program}` : program.test,
      ...(media === undefined ? [] : [`quickstarts/${media.program}`]),
    ];
    for (const file of files)
      expect([file, existsSync(join(ROOT, "tests/clients", file))]).toEqual([file, true]);
  }
  const told = new Set(CLIENT_TABLE.map(({ group }) => group));
  expect(GROUPS.map(({ name }) => name).filter((name) => !told.has(name))).toEqual([]);
});

test("the line that mends a loop over a stream stands wherever people look for it", async () => {
  const pages = [
    "docs/guides/which-clients-work.md",
    "docs/guides/troubleshooting.md",
    "docs/moving-from-litellm.md",
  ];
  for (const page of pages) {
    expect(await Bun.file(join(ROOT, page)).text()).toContain(
      "    if not chunk.choices:\n        continue\n",
    );
  }
});
