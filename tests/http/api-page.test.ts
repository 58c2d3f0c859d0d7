import { afterAll, beforeAll, expect, test } from "bun:test";
import { join } from "node:path";
import { API_PAGE, toApiPage } from "../../contrib/docs/api.ts";
import { startHarness, type Harness } from "./support.ts";

let harness: Harness;
beforeAll(async () => {
  harness = await startHarness();
});
afterAll(() => harness.stop());

test("docs/api.md is what `npm run docs` makes, and has every route that is served with its access", async () => {
  const page = await Bun.file(join(import.meta.dir, "../..", API_PAGE)).text();
  expect(page).toBe(toApiPage());
  const rows = page.split("\n").filter((line) => /^\| `[A-Z]+ \//.test(line));
  const told = rows.flatMap((row) => {
    const [, routes = "", access = ""] = row.split("|");
    return [...routes.matchAll(/`([^`]+)`/g)].map(([, route]) => `${route} ${access.trim()}`);
  });
  const served = harness.routes.map(({ method, path, access }) => `${method} ${path} ${access}`);
  expect(told.sort()).toEqual(served.sort());
  // A bar in a cell would tear the table.
  for (const row of rows) expect(row.replaceAll("\\|", "").split("|")).toHaveLength(6);
});

/** `GET /auth/login?retry=1`, `POST /v1/… (also …)` and the like, as section 4 of the specification writes them. */
test("docs/api.md has every route that section 4 of the specification names", async () => {
  const root = join(import.meta.dir, "../..");
  const specification = await Bun.file(join(root, "docs/spec/service.md")).text();
  const section = specification.slice(specification.indexOf("\n## 4."), specification.indexOf("\n## 5."));
  const cells = section
    .split("\n")
    .flatMap((line) => (line.startsWith("| `") ? [line.split("|")[1] ?? ""] : []));
  const named = cells.flatMap((cell) => {
    const method = /`([A-Z]+) \//.exec(cell)?.[1];
    const both = [...cell.matchAll(/`(?:([A-Z]+) )?(\/[^`?&]*)/g)];
    return both.map(([, own, path = ""]) => `${own ?? method} ${path.replaceAll(/\{([a-z]+)\}/g, ":$1")}`);
  });
  expect(named.length).toBeGreaterThan(45);
  const page = toApiPage();
  // `GET /` is the page, which every other path shows as well.
  const missing = named.filter((route) => !page.includes(` \`${route === "GET /" ? "GET /*" : route}\``));
  expect(missing).toEqual([]);
});
