import { basename, extname, join, relative, resolve } from "node:path";
import { contentTypeOf, type PageFile } from "./file.ts";
import { mergeModules } from "./merge.ts";
import { renameByContent } from "./names.ts";

export type Mode = "production" | "development";

/** Smaller ones are put into others, since each is a request of the browser's; Bun's own recommendation. */
const CHUNK_BYTES_MIN = 16_384;
const NAMING = "assets/[name]-[hash].[ext]";

export interface Modules {
  /** Path of the module that the html loads. */
  readonly entry: string;
  readonly files: readonly PageFile[];
  /** Paths of what the entry and the first parts import at once, and of these parts. */
  readonly preloads: readonly string[];
}

export interface ModulesRequest {
  readonly entrypoint: string;
  /** Folder of the sources. */
  readonly folder: string;
  readonly mode: Mode;
  /** Sources, from `folder`, that a first visit loads by itself after the entry: they are in the entry's file. */
  readonly firstParts: readonly string[];
  /** Sources, from `folder`, that are loaded later and share a file, by the name of that file; any other has one of its own. */
  readonly groups: { readonly [name: string]: readonly string[] };
}

/** A module, what it imports at once, and what it loads later. Throws where a first part is loaded by nothing. */
export async function bundleModules(request: ModulesRequest): Promise<Modules> {
  const { entrypoint, folder, mode, firstParts, groups } = request;
  const { outputs, metafile } = await Bun.build({
    ...toBrowserOptions(mode),
    entrypoints: [entrypoint],
    root: folder,
    splitting: true,
    minChunkSize: CHUNK_BYTES_MIN,
    publicPath: "/",
    // Files that are needed together are put together, or asked for together, by `mergeModules`.
    modulePreload: mode === "development",
    naming: { entry: NAMING, chunk: NAMING, asset: NAMING },
    metafile: true,
  });
  const entry = outputs.find(({ kind }) => kind === "entry-point");
  if (entry === undefined || metafile === undefined) throw new Error(`${entrypoint} made no module`);
  const entryPath = toPath(entry.path);
  const first = findImported([entryPath, ...findParts(firstParts, folder, metafile)], metafile);
  const built: PageFile[] = [];
  for (const output of outputs) {
    const path = toPath(output.path);
    const contentType = contentTypeOf(extname(path));
    built.push({ path, contentType, bytes: await toBytes(output), isFirstLoad: first.has(path) });
  }
  // In development other names would put the source maps out of step.
  if (mode === "development") {
    const preloads = [...first].filter((path) => path !== entryPath).sort();
    return { entry: entryPath, files: built, preloads };
  }
  const homes = findHomes({ first, groups, folder, metafile });
  const files = await merge(built, homes, findLoaded(metafile));
  const main = files.find(({ isFirstLoad }) => isFirstLoad);
  if (main === undefined) throw new Error(`${entrypoint} made no module`);
  return { entry: main.path, files, preloads: [] };
}

/** A script that runs where it stands, before the page is painted: Bun's html bundling would put it into the deferred module. */
export async function bundleClassic(entrypoint: string, mode: Mode): Promise<Uint8Array<ArrayBuffer>> {
  const { outputs } = await Bun.build({
    ...toBrowserOptions(mode),
    entrypoints: [entrypoint],
    format: "iife",
  });
  return await toBytes(getOnly(outputs));
}

function toBrowserOptions(mode: Mode) {
  const isProduction = mode === "production";
  return {
    target: "browser",
    minify: isProduction,
    sourcemap: isProduction ? "none" : "inline",
    define: { "process.env.NODE_ENV": JSON.stringify(mode) },
    jsx: { runtime: "automatic", development: !isProduction },
    plugins: [browserImports],
  } as const satisfies Partial<Bun.BuildConfig>;
}

/** The outputs that begin with these sources. */
function findParts(
  sources: readonly string[],
  folder: string,
  { outputs }: Bun.BuildMetafile,
): readonly string[] {
  const built = new Map(
    Object.entries(outputs).flatMap(([path, { entryPoint }]) =>
      entryPoint === undefined ? [] : [[resolve(entryPoint), toPath(path)]],
    ),
  );
  return sources.map((source) => {
    const path = built.get(join(folder, source));
    if (path === undefined)
      throw new Error(`${source} is named as a part of the first visit, and nothing loads it`);
    return path;
  });
}

/** These and what they import statically, through any number of files. */
function findImported(roots: readonly string[], { outputs }: Bun.BuildMetafile): ReadonlySet<string> {
  const importsOf = new Map(
    Object.entries(outputs).map(([path, { imports }]) => [
      toPath(path),
      imports.filter(({ kind }) => kind === "import-statement").map((found) => toPath(found.path)),
    ]),
  );
  const imported = new Set<string>();
  const visit = (path: string) => {
    if (imported.has(path)) return;
    imported.add(path);
    importsOf.get(path)?.forEach(visit);
  };
  roots.forEach(visit);
  return imported;
}

/** The outputs that something loads by `import()`. */
function findLoaded({ outputs }: Bun.BuildMetafile): ReadonlySet<string> {
  const loaded = Object.values(outputs).flatMap(({ imports }) =>
    imports.filter(({ kind }) => kind === "dynamic-import").map(({ path }) => toPath(path)),
  );
  return new Set(loaded);
}

/** Shared by parts that are loaded by a press; shared by groups only. */
const SHARED_BY_PARTS = "parts";
const SHARED = "shared";

interface HomesRequest extends Pick<ModulesRequest, "groups" | "folder"> {
  readonly first: ReadonlySet<string>;
  readonly metafile: Bun.BuildMetafile;
}

/** Output → the name of its file. None imports one that imports it: what two files need is in a third. */
function findHomes({ first, groups, folder, metafile }: HomesRequest): ReadonlyMap<string, string> {
  const homes = new Map([...first].map((path) => [path, "main"]));
  const users = new Map<string, Set<string>>();
  for (const [output, { entryPoint }] of Object.entries(metafile.outputs)) {
    const path = toPath(output);
    if (entryPoint === undefined || first.has(path)) continue;
    const source = relative(folder, resolve(entryPoint)).replaceAll("\\", "/");
    const group = Object.keys(groups).find((name) => groups[name]?.includes(source));
    for (const used of findImported([path], metafile)) {
      if (first.has(used)) continue;
      users.set(
        used,
        (users.get(used) ?? new Set()).add(group ?? `${ALONE}${basename(path).replace(/-[^-]*$/, "")}`),
      );
    }
  }
  for (const [path, names] of users) {
    const [only = "", ...others] = names;
    const isOfPart = [...names].some((name) => name.startsWith(ALONE));
    homes.set(path, others.length === 0 ? only.replace(ALONE, "") : isOfPart ? SHARED_BY_PARTS : SHARED);
  }
  return homes;
}

/** Marks a part that is in no group. */
const ALONE = "part ";

/**
 * The files that the outputs are put into, each minified by itself: Bun shares its short names among all files that are made
 * together, so that the entry would grow with every page. Names by content come first, since the order of the outputs decides
 * how names in a file are shortened, and Bun's own names are others in each folder.
 */
async function merge(
  built: readonly PageFile[],
  homes: ReadonlyMap<string, string>,
  loaded: ReadonlySet<string>,
): Promise<readonly PageFile[]> {
  const named = [...renameByContent(built)].toSorted(([, one], [, other]) =>
    one.path < other.path ? -1 : 1,
  );
  const scripts = named.filter(([, { path }]) => path.endsWith(".js"));
  const merged = await mergeModules(
    scripts.map(([old, { path, bytes }]) => ({
      path,
      text: new TextDecoder().decode(bytes),
      group: homes.get(old) ?? "main",
      isLoaded: loaded.has(old),
    })),
  );
  const files = merged.map(({ group, path, bytes }): PageFile => {
    return { path, bytes, contentType: contentTypeOf(".js"), isFirstLoad: group === "main" };
  });
  const others = named.filter(([, { path }]) => !path.endsWith(".js")).map(([, file]) => file);
  return [...renameByContent([...files, ...others]).values()];
}

function getOnly(outputs: readonly Bun.BuildArtifact[]): Bun.BuildArtifact {
  const [only, ...others] = outputs;
  if (only === undefined || others.length > 0) throw new Error(`one file was built as ${outputs.length}`);
  return only;
}

async function toBytes(output: Bun.BuildArtifact): Promise<Uint8Array<ArrayBuffer>> {
  return new Uint8Array(await output.arrayBuffer());
}

/** `./assets/x.js` of an output → `/assets/x.js`. */
function toPath(output: string): string {
  return join("/", output).replaceAll("\\", "/");
}

const SOURCE_FOLDER = join(import.meta.dir, "../../src");
/** Rooms of `src` whose code needs the server: the page takes their types only. */
const SERVER_ROOMS: ReadonlySet<string> = new Set(["http", "storage", "boot", "cli", "forward"]);

/**
 * Resolves an import of the page. It fails the build on what a browser cannot have, where Bun would put a substitute in
 * silence. `#room/file.ts` is the source itself: the page's tsconfig.json leads type checkers to its declarations.
 */
export const browserImports: Bun.BunPlugin = {
  name: "browser-imports",
  setup(build) {
    build.onResolve({ filter: /^(?:node|bun):|^bun$/ }, ({ path, importer }) => {
      throw new Error(`${importer} imports ${path}, which no browser has`);
    });
    // With its ending: packages have names of their own that begin so.
    build.onResolve({ filter: /^#.+\.ts$/ }, ({ path, importer }) => {
      // A package has such imports of its own, which its package.json leads on.
      if (importer.includes("/node_modules/")) return undefined;
      if (SERVER_ROOMS.has(path.slice(1).split("/")[0] ?? "")) {
        throw new Error(`${importer} imports ${path} of the server: use \`import type\``);
      }
      return { path: join(SOURCE_FOLDER, path.slice(1)) };
    });
    build.onLoad({ filter: /\.css$/ }, ({ path }) => {
      throw new Error(`${path} is imported by a module: import it in ui/styles.css`);
    });
  },
};
