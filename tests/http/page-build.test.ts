import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdirSync, readdirSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { openBuiltPage } from "#boot/page/page-assets.ts";
import { checkBudget, FIRST_LOAD_BYTES_MAX, toReport, toWeighed } from "../../contrib/build/budget.ts";
import { writeBuiltPage } from "../../contrib/build/cache.ts";
import { encodeFiles, type PageFile } from "../../contrib/build/file.ts";
import { checkHtml } from "../../contrib/build/html.ts";
import { renameByContent } from "../../contrib/build/names.ts";
import { buildPage, type BuiltPage } from "../../contrib/build/page.ts";
import { makeFolder } from "../support/folder.ts";

const HTML = `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>Test</title><link rel="icon" href="./icon.svg">
<script src="./theme.ts"></script><link rel="stylesheet" href="./styles.css"><script type="module" src="./main.tsx"></script></head>
<body><div id="root"></div><a href="/usage">usage</a></body>
</html>
`;
/** A page with a part that is loaded later, and code that both parts share. */
const SOURCES = {
  "index.html": HTML,
  "icon.svg": '<svg xmlns="http://www.w3.org/2000/svg"/>',
  "theme.ts": 'const theme: string = "dark"; document.documentElement.dataset["theme"] = theme;',
  "styles.css": '@import "tailwindcss";\n@theme { --color-ink: #123456; }\n',
  "shared.ts": `export const shared: string = "said by both ${"x".repeat(20_000)}";`,
  "later.tsx":
    'import { shared } from "./shared.ts"; export const later = () => console.log("said later", shared);',
  "main.tsx": `import { shared } from "./shared.ts";
    document.body.className = "text-ink md:p-7";
    console.log(shared, process.env.NODE_ENV);
    void import("./later.tsx").then(({ later }) => later());`,
};

let folder: ReturnType<typeof makeFolder>;
beforeEach(() => {
  folder = makeFolder();
  symlinkSync(join(import.meta.dir, "../../node_modules"), join(folder.path, "node_modules"));
});
afterEach(() => folder.remove());

/** A page of these files, over those above. */
function write(overrides: Record<string, string> = {}, name = "page"): string {
  const path = join(folder.path, name);
  for (const [file, text] of Object.entries({ ...SOURCES, ...overrides })) {
    mkdirSync(dirname(join(path, file)), { recursive: true });
    writeFileSync(join(path, file), text);
  }
  return path;
}

const textOf = ({ bytes }: PageFile) => new TextDecoder().decode(bytes);
const pathsOf = ({ files }: BuiltPage) => files.map(({ path }) => path);
function find({ files }: BuiltPage, part: string): PageFile {
  const found = files.find(({ path }) => path.includes(part));
  if (found === undefined) throw new Error(`no ${part} in ${files.map(({ path }) => path).join(" ")}`);
  return found;
}

describe("the page", () => {
  test("names built files only, each with its content in its name, and says which build it is", async () => {
    const page = await buildPage({ folder: write() });
    const html = textOf(find(page, "/"));
    expect(page.files[0]?.path).toBe("/");
    expect(html).not.toContain("./");
    for (const path of pathsOf(page).slice(1))
      expect(path).toMatch(/^\/assets\/[a-z]+-[0-9a-f]{16}\.(js|css|svg)$/);
    const named = [...html.matchAll(/(?:src|href)="(\/assets\/[^"]+)"/g)].map(([, path]) => path ?? "");
    expect(named.filter((path) => !pathsOf(page).includes(path))).toEqual([]);
    expect(named.map((path) => path.replace(/-.*\./, ".")).sort()).toContain("/assets/icon.svg");
    expect(html).toContain(`<meta name="build-id" content="${page.buildId}">`);
    expect(html).toContain('<a href="/usage">');
    // What is not built says nothing of the machine that it was built on.
    for (const file of page.files) expect(textOf(file)).not.toContain(folder.path);
  });

  test("runs its theme script before anything is painted: classic, of its own, and before the style sheet", async () => {
    const page = await buildPage({ folder: write() });
    const html = textOf(find(page, "/"));
    const theme = find(page, "/assets/theme-");
    expect(html).toContain(`<script src="${theme.path}"></script>`);
    expect(html.indexOf(theme.path)).toBeLessThan(html.indexOf(".css"));
    expect(new Bun.Transpiler().scan(textOf(theme))).toEqual({ imports: [], exports: [] });
    expect(textOf(find(page, "/assets/main-"))).not.toContain("dataset");
  });

  test("has the style classes that its code uses and no others, and the tokens of its theme", async () => {
    const css = textOf(find(await buildPage({ folder: write() }), "/assets/styles-"));
    expect(css).toContain("#123456");
    expect(css).toContain(".text-ink");
    expect(css).toContain("md\\:p-7");
    expect(css).not.toContain("md\\:p-8");
    expect(css).not.toContain("\n\n");
  });

  test("loads at first the html, the entry, what that imports, the styles and the theme script, and nothing of later", async () => {
    const page = await buildPage({ folder: write() });
    const first = page.files.filter(({ isFirstLoad }) => isFirstLoad);
    const later = page.files.filter(({ isFirstLoad }) => !isFirstLoad);
    expect(first.map(textOf).join("\n")).toContain("said by both");
    expect(first.map(textOf).join("\n")).not.toContain("said later");
    expect(later.map(textOf).join("\n")).toContain("said later");
    for (const part of ["/assets/theme-", "/assets/styles-", "/assets/main-"]) {
      expect(find(page, part).isFirstLoad).toBe(true);
    }
    const html = textOf(find(page, "/"));
    for (const { path } of later.filter((file) => file.path.endsWith(".js"))) {
      expect(html).not.toContain(path);
    }
    for (const { path } of first.slice(1)) expect(html).toContain(path);
  });

  test("has in its first file what a part of the first visit needs as well, and in others what is loaded on a press", async () => {
    const overrides = {
      "main.tsx": `${SOURCES["main.tsx"]} void import("./never.tsx").then(({ never }) => never());`,
      "never.tsx": 'export const never = () => console.log("said on a press");',
    };
    const page = await buildPage({ folder: write(overrides), firstParts: ["later.tsx"] });
    const first = page.files.filter(({ isFirstLoad }) => isFirstLoad);
    expect(first.map(textOf).join("\n")).toContain("said later");
    expect(first.map(textOf).join("\n")).not.toContain("said on a press");
    // Else a slow line would ask for one after the other.
    expect(textOf(find(page, "/assets/main-"))).toContain("said later");
    expect(textOf(find(page, "/"))).not.toContain("/assets/never-");
    const failure: unknown = await buildPage({ folder: write(), firstParts: ["gone.tsx"] }).catch(
      (error: unknown) => error,
    );
    expect(Bun.inspect(failure)).toContain("gone.tsx is named as a part of the first visit");
  });

  test("puts parts of a group into one file, and what that shares with others into a file that is asked for beside it", async () => {
    const toPart = (name: string, text: string) =>
      `import { common } from "./common.ts"; import { shared } from "./shared.ts"; export const ${name} = () => console.log("${text}", common, shared);`;
    const sources = {
      "common.ts": `export const common: string = "said by parts ${"y".repeat(20_000)}";`,
      "one.tsx": toPart("one", "said by one"),
      "two.tsx": toPart("two", "said by two"),
      "later.tsx": toPart("later", "said later"),
      "main.tsx": `${SOURCES["main.tsx"]} void import("./one.tsx").then(({ one }) => one()); void import("./two.tsx").then(({ two }) => two());`,
    };
    const page = await buildPage({ folder: write(sources), groups: { pair: ["one.tsx", "two.tsx"] } });
    const scripts = page.files.filter(({ path }) => path.endsWith(".js") && !path.includes("theme-"));
    const names = scripts.map(({ path }) => path.replace(/-[0-9a-f]{16}/, ""));
    expect(names).toEqual(["later", "main", "pair", "parts"].map((name) => `/assets/${name}.js`));
    const pair = textOf(find(page, "/assets/pair-"));
    expect(pair).toContain("said by one");
    expect(pair).toContain("said by two");
    for (const text of ["said by parts", "said by both"]) {
      expect(scripts.filter((file) => textOf(file).includes(text))).toHaveLength(1);
    }
    const main = textOf(find(page, "/assets/main-"));
    const parts = find(page, "/assets/parts-").path;
    expect(main.split(`import("${parts}").catch(()=>0),import(`)).toHaveLength(4);
    // What a file is loaded for keeps its name in it.
    expect(new Bun.Transpiler({ loader: "js" }).scan(pair).exports).toEqual(["one", "two"]);
    const mainToo = sources["main.tsx"].replace("({ two }) => two()", "({ one }) => one()");
    const twice = { ...sources, "two.tsx": toPart("one", "said by two"), "main.tsx": mainToo };
    const failure: unknown = await buildPage({
      folder: write(twice, "twice"),
      groups: { pair: ["one.tsx", "two.tsx"] },
    }).catch((error: unknown) => error);
    expect(String(failure)).toContain("two parts of the page in pair export one");
  });

  test("is production code that does not reload itself; in development it does, and has source maps", async () => {
    const path = write();
    const production = await buildPage({ folder: path });
    const development = await buildPage({ folder: path, mode: "development" });
    const all = (page: BuiltPage) => page.files.map(textOf).join("\n");
    expect(all(production)).toContain('"production"');
    expect(all(production)).not.toMatch(/sourceMappingURL|location\.reload/);
    expect(all(development)).toContain('"development"');
    expect(all(development)).toContain("sourceMappingURL=data:");
    expect(textOf(find(development, "/"))).toContain(find(development, "/assets/reload-on-rebuild-").path);
    expect(() => checkHtml(textOf(find(development, "/")))).not.toThrow();
  });

  test("is the same to the byte when it is built from another folder", async () => {
    const [here, there] = await Promise.all(
      ["one", "two/deeper/down"].map((name) => buildPage({ folder: write({}, name) })),
    );
    expect(pathsOf(there!)).toEqual(pathsOf(here!));
    expect(there!.files.map(textOf)).toEqual(here!.files.map(textOf));
    expect(there!.buildId).toBe(here!.buildId);
  });

  test("is another build under other names when any part changes, and the names of what did not change stay", async () => {
    const before = await buildPage({ folder: write() });
    const after = await buildPage({
      folder: write({ "later.tsx": SOURCES["later.tsx"].replace("said later", "said otherwise") }),
    });
    expect(after.buildId).not.toBe(before.buildId);
    const gone = pathsOf(before).filter((path) => !pathsOf(after).includes(path));
    // The entry names the file, so it has another name too: no name is ever used again for other bytes.
    expect(gone.map((path) => path.replace(/-.*/, "")).sort()).toEqual(["/assets/later", "/assets/main"]);
    const other = await buildPage({ folder: write({ "index.html": HTML.replace("Test", "Other") }) });
    expect(other.buildId).not.toBe(before.buildId);
    expect(pathsOf(other)).toEqual(pathsOf(before));
  });
});

describe("a build that fails", () => {
  test.each([
    ["a <script> without src", "<script>go()</script>"],
    ["a <style> element", "<style>p{}</style>"],
    ["a style attribute of <p>", '<p style="color:red">'],
    ["onclick of <p>", "<p onclick='go()'>"],
    ["onload of <img>", "<img src='/assets/x' onload=go()>"],
    ["onfocus of <p>", "<p ONFOCUS='go()'>"],
    ["a javascript: address of <a>", "<a href=' JavaScript:go()'>"],
    ["a <base> element", "<base href='/x/'>"],
    ["src of <script>, which leads to another server", "<script src='https://example.org/x.js'></script>"],
    ["href of <link>, which leads to another server", "<link rel=stylesheet href='//example.org/x.css'>"],
  ])("has %s in its html", async (what, markup) => {
    const path = write({ "index.html": HTML.replace("<a ", `${markup}<a `) });
    const failure: unknown = await buildPage({ folder: path }).catch((error: unknown) => error);
    expect(Bun.inspect(failure)).toContain(what);
  });

  test.each([
    [
      "names a file that does not exist",
      { "index.html": HTML.replace("./icon.svg", "./nothing.svg") },
      "./nothing.svg",
    ],
    [
      "names a file of an unknown type",
      { "index.html": HTML.replace("./icon.svg", "./a.xyz"), "a.xyz": "" },
      ".xyz",
    ],
    [
      "uses a module of the server's runtime",
      { "shared.ts": 'export { readFileSync as shared } from "node:fs";' },
      "node:fs",
    ],
    ["uses Bun", { "shared.ts": 'import { env } from "bun"; export const shared = String(env);' }, "bun"],
    [
      "uses a database",
      { "shared.ts": 'import { Database } from "bun:sqlite"; export const shared = Database.name;' },
      "bun:sqlite",
    ],
    [
      "imports a style sheet from a module",
      { "later.tsx": 'import "./styles.css"; export const later = () => {};' },
      "styles.css",
    ],
    [
      "loads a foreign style sheet",
      { "styles.css": '@import url("https://example.org/x.css");' },
      "example.org",
    ],
    ["loads a picture from its styles", { "styles.css": "p{background:url(./x.png)}" }, "x.png"],
    ["does not parse", { "main.tsx": "const = ;" }, "main.tsx"],
  ])("%s", async (_, overrides, what) => {
    const failure: unknown = await buildPage({ folder: write(overrides) }).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(Error);
    expect(Bun.inspect(failure)).toContain(what);
  });

  test("takes more than types from a room of the server; of a pure room it takes the source itself", async () => {
    for (const specifier of [
      "#http/app.ts",
      "#storage/sqlite/storage.ts",
      "#boot/settings/config.ts",
      "#cli/screen/table.ts",
      "#forward/relay.ts",
    ]) {
      const source = `import * as all from "${specifier}"; export const shared = Object.keys(all).join();`;
      const failure: unknown = await buildPage({ folder: write({ "shared.ts": source }) }).catch(
        (error: unknown) => error,
      );
      expect(Bun.inspect(failure)).toContain(`${specifier} of the server: use \`import type\``);
    }
    const types = 'import type { App } from "#http/app.ts"; export const shared: keyof App = "routes";';
    expect(pathsOf(await buildPage({ folder: write({ "shared.ts": types }) }))[0]).toBe("/");
    const values = 'export { ERROR_STATUS as shared } from "#kernel/errors.ts";';
    const page = await buildPage({ folder: write({ "shared.ts": values }) });
    expect(page.files.map(textOf).join("\n")).toContain("model_not_found");
  });
});

describe("the names of built files", () => {
  const toFiles = (sources: Record<string, string>) =>
    Object.entries(sources).map(([path, text]) => ({ path, bytes: new TextEncoder().encode(text) }));
  const rename = (sources: Record<string, string>) =>
    [...renameByContent(toFiles(sources)).values()].map(({ path, bytes }) => ({
      path,
      text: new TextDecoder().decode(bytes),
    }));

  test("follow from the contents alone, also where files name each other in a circle", () => {
    const one = rename({
      "/assets/a-aaaaaaa1.js": 'import("/assets/b-bbbbbbb1.js"),n("bbbbbbb1")',
      "/assets/b-bbbbbbb1.js": 'import"./a-aaaaaaa1.js"',
    });
    const other = rename({
      "/assets/a-zzzzzzz1.js": 'import("/assets/b-yyyyyyy1.js"),n("yyyyyyy1")',
      "/assets/b-yyyyyyy1.js": 'import"./a-zzzzzzz1.js"',
    });
    expect(other).toEqual(one);
    const [a, b] = one;
    const hashOf = (path = "") => /-([0-9a-f]{16})\.js$/.exec(path)?.[1];
    expect(a?.text).toBe(`import("${b?.path}"),n("${hashOf(b?.path)}")`);
    expect(b?.text).toBe(`import"./a-${hashOf(a?.path)}.js"`);
  });

  test("differ when the same files are named in another order, or something behind them changes", () => {
    const sources = {
      "/assets/a-aaaaaaa1.js": 'load("bbbbbbb1","ccccccc1")',
      "/assets/b-bbbbbbb1.js": "b",
      "/assets/c-ccccccc1.js": 'load("ddddddd1")',
      "/assets/d-ddddddd1.js": "d",
    };
    const [a, b] = rename(sources);
    const [swapped] = rename({ ...sources, "/assets/a-aaaaaaa1.js": 'load("ccccccc1","bbbbbbb1")' });
    const [behind, sameB] = rename({ ...sources, "/assets/d-ddddddd1.js": "changed" });
    expect(new Set([a?.path, swapped?.path, behind?.path]).size).toBe(3);
    expect(sameB).toEqual(b);
  });

  test("are not made up for a file without a hash, and two files never share one", () => {
    expect(() => rename({ "/assets/a.js": "" })).toThrow("/assets/a.js has no hash");
    expect(() => rename({ "/assets/a-aaaaaaa1.js": "same", "/assets/a-bbbbbbb1.js": "same" })).toThrow(
      "one name",
    );
  });
});

describe("the budget of the first load", () => {
  const FILES = [
    { path: "/", isFirstLoad: true, gzipBytes: 1_000 },
    { path: "/assets/main.js", isFirstLoad: true, gzipBytes: 150_000 },
    { path: "/assets/later.js", isFirstLoad: false, gzipBytes: 900_000 },
  ];

  test("is 200,000 bytes by gzip, and what is loaded later does not count", () => {
    expect(FIRST_LOAD_BYTES_MAX).toBe(200_000);
    expect(checkBudget(FILES)).toBe(151_000);
    expect(checkBudget(FILES, 151_000)).toBe(151_000);
  });

  test("fails the build by one byte too many, and names the files of the first load by size", () => {
    const failing = () => checkBudget(FILES, 150_999);
    expect(failing).toThrow("the first load of the page is 151,000 bytes by gzip, and may be 150,999");
    expect(failing).toThrow(/150,000 {2}\/assets\/main\.js\n +1,000 {2}\/\n/);
    expect(failing).not.toThrow("later.js");
    const large = [...FILES, { path: "/assets/styles.css", isFirstLoad: true, gzipBytes: 49_001 }];
    expect(() => checkBudget(large)).toThrow("200,001 bytes by gzip, and may be 200,000");
  });

  test("is reported for each file and in sum", async () => {
    const encoded = await encodeFiles((await buildPage({ folder: write() })).files);
    const report = toReport(encoded);
    for (const { path, bytes, isFirstLoad } of encoded) {
      const size = bytes.byteLength.toLocaleString("en-US");
      expect(report).toMatch(
        new RegExp(`^ +${size} .*  ${RegExp.escape(path)}${isFirstLoad ? "" : " \\(later\\)"}$`, "m"),
      );
    }
    const total = checkBudget(toWeighed(encoded));
    expect(report).toEndWith(`first load: ${total.toLocaleString("en-US")} bytes by gzip, of 200,000`);
  });
});

describe("a page that was built beside the source", () => {
  test("is served as it was built, and another build of it at the next request", async () => {
    const cached = join(folder.path, "cache/page.json");
    expect(openBuiltPage(cached)).toBeNull();
    const first = await buildPage({ folder: write() });
    writeBuiltPage(first, cached);
    const table = openBuiltPage(cached)!;
    for (const file of first.files.slice(1)) {
      const asset = table.findAsset(file.path);
      expect(asset?.contentType).toBe(file.contentType);
      expect(asset?.variants).toEqual([
        { coding: "identity", body: file.bytes, etag: expect.stringMatching(/^"[0-9a-f]{64}"$/) },
      ]);
    }
    expect(table.getPage().variants[0]?.body).toEqual(first.files[0]!.bytes);
    expect(table.getStylesheets()).toEqual([find(first, "/assets/styles-").path]);
    expect(table.findAsset("/")).toBeNull();

    const second = await buildPage({ folder: write({ "index.html": HTML.replace("Test", "Second") }) });
    writeBuiltPage(second, cached);
    // Two writes may fall into one tick of the file system's clock.
    utimesSync(cached, 1, 1);
    expect(table.getPage().variants[0]?.body).toEqual(second.files[0]!.bytes);
    expect(readdirSync(dirname(cached))).toEqual(["page.json"]);
  });

  test("that is no page is refused with its path and what to do", () => {
    for (const text of ["{}", '[{"path":"/"}]', "[]"]) {
      const path = join(folder.path, "page.json");
      writeFileSync(path, text);
      expect(() => openBuiltPage(path)).toThrow(/no built page|no html/);
    }
  });
});
