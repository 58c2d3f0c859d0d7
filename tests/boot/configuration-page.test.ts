import { expect, test } from "bun:test";
import { join } from "node:path";
import { SETTINGS } from "#boot/settings/settings.ts";
import { CONFIGURATION_PAGE, toConfigurationPage } from "../../contrib/docs/configuration.ts";

test("docs/configuration.md is what `npm run docs` makes of the settings, and leaves none out", async () => {
  const page = await Bun.file(join(import.meta.dir, "../..", CONFIGURATION_PAGE)).text();
  expect(page).toBe(toConfigurationPage());
  const rows = page.split("\n").filter((line) => line.startsWith("| `PROXY_"));
  expect(rows.map((row) => row.split("`")[1])).toEqual(Object.values(SETTINGS).map(({ name }) => name));
  // A bar or a line break in a sentence would tear the table.
  for (const row of rows) expect(row.split(" | ")).toHaveLength(4);
});
