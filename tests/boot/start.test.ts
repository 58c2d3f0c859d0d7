import { describe, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { PROGRAM } from "../../build.ts";
import { makeFolder } from "../support/folder.ts";
import { executable } from "../support/executable.ts";
import { runProcess, startProcess } from "../support/process.ts";

const root = join(import.meta.dir, "../..");
const BUILD_MS_MAX = 120_000;
const WORKER_THREAD = "Worker";

/** The files that `serve` has loaded when it listens: these, each by an `import()`, and all that they import. */
const SERVING = [
  "main.ts",
  "cli/screen/terminal.ts",
  "cli/commands/server.ts",
  "boot/serve.ts",
  "storage/files/folder-lock.ts",
  "storage/threads/ledger.ts",
  "storage/sqlite/serve.ts",
];

/** The thread that is there from the start. */
const WRITER = "storage/sqlite/ledger/writer-worker.ts";

/** Files of `src` that are loaded with these, and the packages that they need. Types are not loaded. */
function loadedWith(entries: readonly string[]) {
  const transpiler = new Bun.Transpiler({ loader: "ts" });
  const files = new Set(entries);
  const packages = new Set<string>();
  const modules = new Set<string>();
  for (const file of files) {
    const imports = transpiler.scanImports(readFileSync(join(root, "src", file), "utf8"));
    for (const { kind, path } of imports) {
      if (kind !== "import-statement" || path.startsWith("bun:")) continue;
      if (path.startsWith("node:")) modules.add(path);
      else if (path.startsWith("./")) files.add(join(file, "..", path));
      else if (!path.startsWith("#")) packages.add(path);
      else if (existsSync(join(root, "src", path.slice(1)))) files.add(path.slice(1));
    }
  }
  return { files: [...files].toSorted(), packages: [...packages].toSorted(), modules };
}

/** The parts of the executable that each process or thread loads which begins with these files of `src`. */
async function loadedOfParts(entries: readonly string[]): Promise<readonly string[]> {
  const { metafile } = await Bun.build({ ...PROGRAM, metafile: true });
  const outputs = new Map(
    Object.entries(metafile?.outputs ?? {}).map(([path, output]) => [basename(path), output]),
  );
  const parts = new Set<string>();
  for (const [name, { entryPoint = "" }] of outputs)
    if (entries.some((entry) => entryPoint.endsWith(`src/${entry}`))) parts.add(name);
  for (const part of parts) {
    for (const { kind, path } of outputs.get(part)?.imports ?? [])
      if (kind === "import-statement" && outputs.has(basename(path))) parts.add(basename(path));
  }
  return [...parts].flatMap((part) => Object.keys(outputs.get(part)?.inputs ?? {})).toSorted();
}

describe("a server that starts", () => {
  test("replaces a process that has loaded three files", () => {
    expect(loadedWith(["main.ts"])).toMatchObject({
      files: ["boot/relaunch.ts", "boot/settings/environment.ts", "main.ts"],
      packages: [],
    });
  });

  test("loads none of the runtime's modules that bring Node's streams with them", () => {
    const streams = ["crypto", "net", "readline", "stream", "tls", "tty", "util", "zlib"];
    const { modules } = loadedWith(SERVING);
    expect(streams.filter((name) => modules.has(`node:${name}`))).toEqual([]);
  });

  test("listens without the routes behind Elysia, single sign-on, and the parser of command lines", () => {
    const { files, packages } = loadedWith(SERVING);
    expect(packages).toEqual([]);
    expect(files).not.toContain("http/controllers.ts");
    expect(files.filter((file) => file.startsWith("http/api/") || file.startsWith("http/schemas/"))).toEqual(
      [],
    );
    expect(files.filter((file) => file.startsWith("cli/commands/"))).toEqual(["cli/commands/server.ts"]);
  });

  test("listens without the reports and the list of the page's files, on no thread", () => {
    const { files } = loadedWith([...SERVING, WRITER]);
    expect(files).toContain("storage/threads/reader-client.ts");
    expect(files).not.toContain("storage/reports/reports.ts");
    expect(files).not.toContain("boot/page/embedded-page.ts");
  });

  test("on SQLite loads nothing of PostgreSQL from the executable", async () => {
    const loaded = await loadedOfParts([...SERVING, WRITER]);
    expect(loaded).toContain(`src/${WRITER}`);
    expect(
      loaded.filter((path) => /(?:^|[-/])(?:postgres|pg|mysql|singlestore|gel)(?:[-/]|$)/.test(path)),
    ).toEqual([]);
  });

  test.skipIf(process.platform !== "linux")(
    "has one Worker until a report is asked for",
    async () => {
      const lockport = await executable();
      const folder = makeFolder();
      const env = { PROXY_DATA_DIR: folder.path };
      try {
        const { data: key } = await runProcess([lockport, "admin", "bootstrap"], { env });
        const server = await startProcess([lockport], { env });
        const ask = (path: string) =>
          fetch(server.url + path, { headers: { authorization: `Bearer ${key.trim()}` } });
        try {
          expect((await ask("/healthz")).status).toBe(200);
          expect((await ask("/admin/v1/providers")).status).toBe(200);
          expect(countWorkers(server.pid)).toBe(1);
          expect((await ask("/stats/summary")).status).toBe(200);
          expect(countWorkers(server.pid)).toBe(2);
        } finally {
          await server.stop();
        }
      } finally {
        folder.remove();
      }
    },
    BUILD_MS_MAX,
  );
});

function countWorkers(pid: number): number {
  return readdirSync(`/proc/${pid}/task`).filter(
    (thread) => readFileSync(`/proc/${pid}/task/${thread}/comm`, "utf8").trim() === WORKER_THREAD,
  ).length;
}
