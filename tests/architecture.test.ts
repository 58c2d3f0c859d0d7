import { describe, expect, test } from "bun:test";
import { Glob } from "bun";
import { join } from "node:path";

const root = join(import.meta.dir, "..");

/** Which room may import which. `main.ts` stands before the door and may enter the first two. */
const ROOMS: { readonly [room: string]: readonly string[] } = {
  "main.ts": ["boot", "cli"],
  cli: ["boot", "interchange", "views", "snippets", "stats", "catalog", "identity", "kernel"],
  boot: ["http", "forward", "storage", "views", "stats", "usage", "catalog", "identity", "audit", "kernel"],
  http: ["views", "forward", "stats", "usage", "catalog", "identity", "audit", "kernel"],
  views: ["stats", "usage", "catalog", "identity", "audit", "kernel"],
  snippets: ["kernel"],
  interchange: ["catalog", "kernel"],
  forward: ["usage", "catalog", "identity", "kernel"],
  storage: ["stats", "usage", "catalog", "identity", "audit", "kernel"],
  stats: ["usage", "kernel"],
  catalog: ["audit", "kernel"],
  identity: ["audit", "kernel"],
  usage: ["kernel"],
  audit: ["kernel"],
  kernel: [],
};

/** Where a package may be imported: a room, or one file of it. Anything from `node:` and `bun` may be used anywhere. */
const PACKAGE_ROOMS: { readonly [name: string]: string } = {
  elysia: "http/",
  "@sinclair/typebox": "http/",
  "drizzle-orm": "storage/",
  "bun:sqlite": "storage/",
  "openid-client": "identity/oidc.ts",
  commander: "cli/",
  yaml: "interchange/",
};

/** What only these files may say, and how it looks in the source. */
const RESERVED: readonly {
  readonly what: string;
  readonly pattern: RegExp;
  readonly files: readonly string[];
}[] = [
  {
    what: "the environment of the process",
    pattern: /\bprocess\.env\b|\bBun\.env\b|\bimport\.meta\.env\b/,
    files: ["boot/config.ts"],
  },
  {
    what: "the wall clock",
    pattern: /\bDate\.now\b|\bnew Date\(\)|\bBun\.nanoseconds\b/,
    files: ["kernel/clock.ts"],
  },
  {
    what: "chance",
    // The nonce of AES-GCM belongs to the cipher: a caller that chose it could repeat it.
    pattern: /\bMath\.random\b|\brandomUUID|\bgetRandomValues\b|\brandomBytes\(|\brandomInt\b/,
    files: ["kernel/ids.ts", "kernel/crypto.ts"],
  },
];

/** `import … from "x"`, `export … from "x"`, `import "x"` and `import("x")`. */
const IMPORT = /^(?:import|export)\b[^;"]*?\bfrom "([^"]+)"|^import "([^"]+)"|\bimport\("([^"]+)"\)/gm;

const files = await Promise.all(
  [...new Glob("**/*.ts").scanSync(join(root, "src"))]
    .map((path) => path.replaceAll("\\", "/"))
    .sort()
    .map(async (path) => ({ path, text: await Bun.file(join(root, "src", path)).text() })),
);

describe("the import graph", () => {
  test("a file imports its own room by ./ and only the rooms that its room may enter, never by ../", () => {
    const wrong = eachImport(({ path, specifier }) => {
      if (specifier.startsWith("./")) return true;
      // Generated SQL stands beside src and is embedded as text.
      if (specifier.endsWith(".sql")) return toRoom(path) === "storage";
      if (!specifier.startsWith("#") && !specifier.startsWith(".")) return true;
      const target = specifier.startsWith("#") ? toRoom(specifier.slice(1)) : null;
      // A room's own subfolders reach each other by the long name, since `../` is not used.
      return target !== null && (target === toRoom(path) || (ROOMS[toRoom(path)] ?? []).includes(target));
    });
    expect(wrong).toEqual([]);
  });

  test("a package is imported only in the room that is named for it, and no package without a room is imported", () => {
    const wrong = eachImport(({ path, specifier }) => {
      if (/^[#.]/.test(specifier) || specifier.startsWith("node:") || specifier === "bun") return true;
      const room = PACKAGE_ROOMS[toPackageName(specifier)];
      return room !== undefined && path.startsWith(room);
    });
    expect(wrong).toEqual([]);
  });

  test("every folder of src is a known room, and nothing but main.ts stands outside of one", () => {
    const unknown = files.filter(({ path }) => ROOMS[toRoom(path)] === undefined).map(({ path }) => path);
    expect(unknown).toEqual([]);
  });
});

describe("what is passed in and never fetched", () => {
  for (const { what, pattern, files: allowed } of RESERVED) {
    test(`${what} is read in ${allowed.join(" and ")} and nowhere else`, () => {
      const wrong = files
        .filter(
          ({ path, text }) => !allowed.includes(path) && pattern.test(withoutCalls(withoutComments(text))),
        )
        .map(({ path }) => path);
      expect(wrong).toEqual([]);
    });
  }
});

describe("the house rules of a file", () => {
  test("no file has a default export or is a barrel that exports another file's names", () => {
    const wrong = files
      .filter(({ text }) =>
        /^export (default|\*)|^export (type )?\{[^}]*\} from /m.test(withoutComments(text)),
      )
      .map(({ path }) => path);
    expect(wrong).toEqual([]);
  });

  test("every runtime dependency has a decision that names it, and is pinned to one version", async () => {
    const manifest = await Bun.file(join(root, "package.json")).json();
    const decisions = await Bun.file(join(root, "docs/decisions.md")).text();
    const dependencies = Object.entries<string>(manifest.dependencies);
    expect(dependencies.filter(([name]) => !decisions.includes(`\`${name}\``)).map(([name]) => name)).toEqual(
      [],
    );
    const all = [...dependencies, ...Object.entries<string>(manifest.devDependencies)];
    expect(all.filter(([, version]) => !/^\d+\.\d+\.\d+$/.test(version))).toEqual([]);
  });
});

function eachImport(isRight: (found: { path: string; specifier: string }) => boolean): string[] {
  return files.flatMap(({ path, text }) =>
    [...withoutComments(text).matchAll(IMPORT)]
      .map((match) => ({ path, specifier: match.slice(1).find((part) => part !== undefined) ?? "" }))
      .filter((found) => !isRight(found))
      .map(({ specifier }) => `${path} imports ${specifier}`),
  );
}

/** `storage/sqlite/open.ts` → `storage`; a file beside the rooms is its own. */
function toRoom(path: string): string {
  return path.split("/")[0] ?? path;
}

function toPackageName(specifier: string): string {
  return specifier
    .split("/")
    .slice(0, specifier.startsWith("@") ? 2 : 1)
    .join("/");
}

function withoutComments(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\//g, "").replace(/(^|\s)\/\/.*$/gm, "$1");
}

/** `ids.randomBytes(…)` is chance that was passed in. */
function withoutCalls(text: string): string {
  return text.replace(/\bids\.randomBytes\(/g, "");
}
