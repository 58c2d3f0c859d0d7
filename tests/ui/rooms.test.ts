import { expect, test } from "bun:test";
import { dirname, join, normalize } from "node:path";

const root = join(import.meta.dir, "../../ui");
const IMPORT = /(?:from|import\()\s*"(\.[^"]+)"/g;
const PAGE = /^pages\/([a-z-]+)/;

const files = await Promise.all(
  [...new Bun.Glob("**/*.{ts,tsx}").scanSync(root)].sort().map(async (path) => ({
    path: path.replaceAll("\\", "/"),
    text: (await Bun.file(join(root, path)).text()).replaceAll(/\/\*.*?\*\//gs, ""),
  })),
);
const imports = files.flatMap(({ path, text }) =>
  [...text.matchAll(IMPORT)].map(([, specifier = ""]) => ({
    from: path,
    to: normalize(join(dirname(path), specifier)).replaceAll("\\", "/"),
  })),
);
const pageOf = (path: string) => PAGE.exec(path)?.[1] ?? null;
const told = (wrong: typeof imports) => wrong.map(({ from, to }) => `${from} imports ${to}`);

test("the graph is read as it is: every import leads to a file of the page", () => {
  const known = new Set(files.map(({ path }) => path));
  expect(imports.length).toBeGreaterThan(500);
  expect(told(imports.filter(({ to }) => !known.has(to)))).toEqual([]);
});

test("no page imports from another page: what two show stands beside the pages", () => {
  const wrong = imports.filter(({ from, to }) => pageOf(from) !== null && pageOf(to) !== null);
  expect(told(wrong.filter(({ from, to }) => pageOf(from) !== pageOf(to)))).toEqual([]);
});

test("nothing but the router imports a page", () => {
  const wrong = imports.filter(({ from, to }) => pageOf(from) === null && pageOf(to) !== null);
  expect(told(wrong.filter(({ from }) => from !== "router.tsx"))).toEqual([]);
});

test("components and charts know neither a page nor a part of one", () => {
  const wrong = imports.filter(
    ({ from, to }) =>
      /^(?:components|charts)\//.test(from) &&
      /^(?:pages|reports|filters|catalog|secrets|shell|setup)\//.test(to),
  );
  expect(told(wrong)).toEqual([]);
});

test("the keys of the cache stand in one table", () => {
  const spelled = files.filter(
    ({ text }) => /queryKey: \[\s*["`]/.test(text) || /queryKey\[\d\] [!=]== "/.test(text),
  );
  expect(spelled.map(({ path }) => path)).toEqual([]);
});
