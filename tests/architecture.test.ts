import { describe, expect, test } from "bun:test";
import { Glob } from "bun";
import { join } from "node:path";

const root = join(import.meta.dir, "..");

/** Which room may import which. `main.ts` stands before the door and may enter the first two. */
const ROOMS: { readonly [room: string]: readonly string[] } = {
  "main.ts": ["boot", "cli"],
  cli: [
    "boot",
    "http",
    "interchange",
    "views",
    "people",
    "snippets",
    "bills",
    "stats",
    "limits",
    "catalog",
    "identity",
    "kernel",
  ],
  boot: [
    "http",
    "forward",
    "storage",
    "views",
    "people",
    "notices",
    "limits",
    "stats",
    "usage",
    "catalog",
    "identity",
    "audit",
    "kernel",
  ],
  http: [
    "views",
    "forward",
    "people",
    "bills",
    "notices",
    "limits",
    "stats",
    "usage",
    "catalog",
    "identity",
    "audit",
    "kernel",
  ],
  views: ["people", "bills", "limits", "stats", "usage", "catalog", "identity", "audit", "kernel"],
  snippets: ["catalog"],
  interchange: ["views", "people", "catalog", "kernel"],
  forward: ["limits", "usage", "catalog", "identity", "kernel"],
  storage: [
    "people",
    "bills",
    "notices",
    "limits",
    "stats",
    "usage",
    "catalog",
    "identity",
    "audit",
    "kernel",
  ],
  people: ["limits", "catalog", "identity", "audit", "kernel"],
  notices: ["limits", "usage", "kernel"],
  limits: ["stats", "usage", "catalog", "audit", "kernel"],
  stats: ["bills", "usage", "audit", "kernel"],
  bills: ["kernel"],
  catalog: ["audit", "kernel"],
  identity: ["audit", "kernel"],
  usage: ["kernel"],
  audit: ["kernel"],
  kernel: [],
};

/** What every engine's ledger is made of; knows no driver. */
const NEUTRAL_LEDGER = ["sql", "cells", "journal", "writer", "reports", "repricing", "threads"];

/**
 * Which sub-room of a room may import which; a key is a folder of the room, and a file belongs to the longest one that it
 * lies in. `.` is the files beside the sub-rooms: they wire, may import all of them, and are imported by a sub-room only
 * where its list says `.`. A room that is absent here has no folders, or has them without arrows of their own.
 */
const SUB_ROOMS: { readonly [room: string]: { readonly [subRoom: string]: readonly string[] } } = {
  boot: {
    settings: [],
    process: ["settings"],
    folder: ["settings", "process"],
    secrets: ["settings", "process", "folder"],
    page: [],
    operate: ["settings", "process", "folder", "secrets"],
    "operate/doctor": ["settings", "process", "folder", "secrets"],
  },
  http: {
    door: [],
    schemas: [],
    page: ["door"],
    ingress: ["schemas", "door"],
    api: ["page", "schemas", "door"],
    reports: ["schemas", "door"],
    metrics: ["schemas", "door"],
    openapi: ["schemas", "door"],
  },
  cli: {
    screen: [],
    installation: ["screen"],
    input: ["installation", "screen"],
    routes: ["input", "installation", "screen"],
    commands: ["routes", "input", "installation", "screen"],
  },
  storage: {
    files: [],
    sql: ["cells"],
    cells: ["sql"],
    journal: ["files"],
    backup: ["files"],
    catalog: ["sql", "files"],
    writer: [".", "sql", "cells", "journal", "reports", "repricing", "files", "threads"],
    threads: [".", "files", ...NEUTRAL_LEDGER],
    reports: ["sql", "cells", "journal", "repricing", "writer"],
    repricing: ["sql", "cells", "reports", "writer"],
    check: [".", "sql", "cells", "journal", "reports"],
    replicas: ["postgres/connection", "catalog", "files", "journal", "sql"],
    sqlite: [".", "catalog", "check", "files", "sqlite", ...NEUTRAL_LEDGER],
    "postgres/connection": [".", "sql"],
    postgres: [".", "catalog", "check", "files", "replicas", "postgres/connection", ...NEUTRAL_LEDGER],
  },
};

/** What other rooms import of a room that is not open to them as a whole: a file, or what lies in a folder (`files/`). */
const DOORS: { readonly [room: string]: readonly string[] } = {
  storage: ["storage/engine.ts", "storage/files/", "storage/backup/", "storage/move.ts"],
};

/** Which file picks what stands behind such a door. */
const PICKS: { readonly [path: string]: readonly string[] } = {
  "boot/settings/engine.ts": [
    "storage/sqlite/engine.ts",
    "storage/sqlite/files.ts",
    "storage/postgres/engine.ts",
    "storage/postgres/examine.ts",
    "storage/sqlite/move/source.ts",
    "storage/postgres/move/target.ts",
  ],
};

/** Where a package may be imported: rooms, or one file of them. Anything from `node:` and `bun` may be used anywhere. */
const PACKAGE_ROOMS: { readonly [name: string]: string | readonly string[] } = {
  elysia: "http/",
  "@sinclair/typebox": "http/",
  // The lock of a data folder is a transaction on a file, whatever the engine.
  "bun:sqlite": ["storage/sqlite/", "storage/files/folder-lock.ts"],
  "bun:ffi": "boot/process/",
  "openid-client": "identity/oidc.ts",
  commander: "cli/",
  yaml: "interchange/",
  papaparse: "bills/",
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
    files: ["boot/settings/environment.ts"],
  },
  {
    what: "the driver of PostgreSQL",
    pattern: /\bBun\.sql\b|\bnew Bun\.SQL\(|\bimport \{[^}]*\bSQL\b[^}]*\} from "bun"/,
    files: ["connection/pool.ts", "connection/postgres.ts"].map((file) => `storage/postgres/${file}`),
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

  test("a sub-room imports only the sub-rooms that its list names, and every folder of such a room is one", () => {
    const unknown = files
      .filter(({ path }) => SUB_ROOMS[toRoom(path)] !== undefined && toSubRoom(path) === null)
      .map(({ path }) => path);
    expect(unknown).toEqual([]);
    const wrong = eachImport(({ path, specifier }) => {
      const target = toTarget(path, specifier);
      if (target === null || toRoom(target) !== toRoom(path)) return true;
      const from = toSubRoom(path);
      const to = toSubRoom(target);
      if (from === null || to === null || from === "." || from === to) return true;
      return (SUB_ROOMS[toRoom(path)]?.[from] ?? []).includes(to);
    });
    expect(wrong).toEqual([]);
  });

  test("the command line takes types of http, and its values only where a command loads them", () => {
    const wrong = files
      .filter(({ path, text }) => toRoom(path) === "cli" && /^import (?!type )[^;]*from "#http\//m.test(text))
      .map(({ path }) => path);
    expect(wrong).toEqual([]);
  });

  test("another room enters storage by its port alone, and one file picks the engine", () => {
    const wrong = eachImport(({ path, specifier }) => {
      const target = toTarget(path, specifier);
      const doors = target === null ? undefined : DOORS[toRoom(target)];
      if (target === null || doors === undefined || toRoom(target) === toRoom(path)) return true;
      return [...doors, ...(PICKS[path] ?? [])].some((door) => target.startsWith(door));
    });
    expect(wrong).toEqual([]);
  });

  test("a process that uses SQLite loads nothing of PostgreSQL: files elsewhere import it by import(), and its types", () => {
    const loaded = /^(?:import|export) (?!type )[^;"]*?from "(?:#storage|\.)\/(?:postgres|replicas)\//m;
    const wrong = files
      .filter(({ path }) => !/^storage\/(?:postgres|replicas)\//.test(path))
      .filter(({ text }) => loaded.test(withoutComments(text)))
      .map(({ path }) => path);
    expect(wrong).toEqual([]);
    expect(loaded.test('import { a } from "#storage/postgres/engine.ts";')).toBe(true);
  });

  test("no file imports itself through others", () => {
    const known = new Set(files.map(({ path }) => path));
    const imports = new Map<string, string[]>(files.map(({ path }) => [path, []]));
    eachImport(({ path, specifier }) => {
      const target = toTarget(path, specifier);
      if (target !== null && known.has(target)) imports.get(path)?.push(target);
      return true;
    });
    expect(findCircles(imports)).toEqual([]);
  });

  test("a package is imported only in the room that is named for it, and no package without a room is imported", () => {
    const wrong = eachImport(({ path, specifier }) => {
      if (/^[#.]/.test(specifier) || specifier.startsWith("node:") || specifier === "bun") return true;
      const rooms = PACKAGE_ROOMS[toPackageName(specifier)] ?? [];
      return [rooms].flat().some((room) => path.startsWith(room));
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

/** The key of `SUB_ROOMS` that a file falls under; null in a room that has none, and in a folder that is none. */
function toSubRoom(path: string): string | null {
  const subRooms = SUB_ROOMS[toRoom(path)];
  if (subRooms === undefined) return null;
  const inRoom = path.split("/").slice(1, -1);
  if (inRoom.length === 0) return ".";
  for (let depth = inRoom.length; depth > 0; depth -= 1) {
    const name = inRoom.slice(0, depth).join("/");
    if (Object.hasOwn(subRooms, name)) return name;
  }
  return null;
}

/** The path below `src` that a specifier means; null for a package. */
function toTarget(path: string, specifier: string): string | null {
  if (specifier.startsWith("#")) return specifier.slice(1);
  return specifier.startsWith("./")
    ? `${path.slice(0, path.lastIndexOf("/") + 1)}${specifier.slice(2)}`
    : null;
}

/** One way round for each group of files that reach each other: `a → b → a`. */
function findCircles(imports: ReadonlyMap<string, readonly string[]>): string[] {
  const done = new Set<string>();
  const circles: string[] = [];
  const visit = (path: string, way: readonly string[]): void => {
    const start = way.indexOf(path);
    if (start !== -1) circles.push([...way.slice(start), path].join(" → "));
    if (start !== -1 || done.has(path)) return;
    for (const target of imports.get(path) ?? []) visit(target, [...way, path]);
    done.add(path);
  };
  for (const path of imports.keys()) visit(path, []);
  return circles;
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
