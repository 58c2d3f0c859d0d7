/**
 * Puts the modules that a build was split into together, so that the page is few files: a bundler makes one for each set of
 * parts that share some code, which is a request each.
 */
import { toHash } from "./names.ts";

/** One module of a build, with absolute addresses of the others in it. */
export interface SplitModule {
  readonly path: string;
  readonly text: string;
  /** The name of the file that it goes into. */
  readonly group: string;
  /** It is loaded by `import()`, which reads its exports by their own names. */
  readonly isLoaded: boolean;
}

export interface MergedModule {
  readonly group: string;
  readonly path: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/** As Bun writes them. */
const STATIC_IMPORT = /import(?:\{([^}]*)\}from)?"(\/assets\/[^"]+\.js)"/g;
const LATE_IMPORT = /import\("(\/assets\/[^"]+\.js)"\)/g;
const LENGTH_OF_HASH = 8;
const MARK_LENGTH = 6;

/**
 * One file for each group, in the order of their names; the same modules make the same bytes. No group may import another
 * one that imports it. What a file needs of others is asked for beside it, and not after it. Throws where two modules of a
 * group that are loaded export one name.
 */
export async function mergeModules(modules: readonly SplitModule[]): Promise<readonly MergedModule[]> {
  const known = new Map(modules.map((module) => [module.path, module]));
  const groups = [...new Set(modules.map(({ group }) => group))].sort();
  const toGroupPath = (group: string) => `/assets/${group}-${toHash(group).slice(0, LENGTH_OF_HASH)}.js`;
  const toGroupOf = (path: string) => known.get(path)?.group ?? "";
  const neededBy = new Map(groups.map((group) => [group, new Set<string>()]));
  const usedOf = new Map(modules.map(({ path }) => [path, new Set<string>()]));
  for (const { text, group } of modules) {
    for (const [, names = "", path = ""] of text.matchAll(STATIC_IMPORT)) {
      if (toGroupOf(path) === group) continue;
      neededBy.get(group)?.add(toGroupOf(path));
      for (const name of names.split(",")) usedOf.get(path)?.add(name.split(" as ")[0] ?? "");
    }
  }

  const toExports = (path: string, write: (own: string, exported: string) => string): string => {
    const module = known.get(path);
    if (module === undefined) throw new Error(`${path} is imported, and was not built`);
    const names = module.isLoaded ? exportsOf(module.text) : [...(usedOf.get(path) ?? [])].filter(Boolean);
    return names
      .toSorted()
      .map((name) => write(name, module.isLoaded ? name : `${name}_${toMark(module)}`))
      .join(",");
  };
  /** Loads the file of a group, and beside it those that it imports and the asking one does not. */
  const toLoad = (group: string, from: string): string => {
    const load = `import("${toGroupPath(group)}")`;
    const beside = [...(neededBy.get(group) ?? [])]
      .filter((other) => other !== from && other !== "main" && neededBy.get(from)?.has(other) !== true)
      .sort()
      .map((other) => `import("${toGroupPath(other)}").catch(()=>0),`);
    return beside.length === 0 ? load : `(${beside.join("")}${load})`;
  };

  return await Promise.all(
    groups.map(async (group) => {
      const own = modules.filter((module) => module.group === group);
      const exported = own.flatMap(({ isLoaded, text }) => (isLoaded ? exportsOf(text) : []));
      const twice = exported.find((name, index) => exported.indexOf(name) < index);
      if (twice !== undefined) throw new Error(`two parts of the page in ${group} export ${twice}`);
      const files: Record<string, string> = {};
      const entry = "/merged.js";
      files[entry] = own
        .map(({ path }) => `export{${toExports(path, (name, as) => `${name} as ${as}`)}}from"${path}";`)
        .join("\n");
      for (const { path, text, group: home } of modules) {
        files[path] =
          home === group
            ? text.replaceAll(LATE_IMPORT, (_, late: string) => toLoad(toGroupOf(late), group))
            : `export{${toExports(path, (name, as) => `${as} as ${name}`)}}from"${toGroupPath(home)}";`;
      }
      const { outputs } = await Bun.build({
        entrypoints: [entry],
        files,
        external: groups.map(toGroupPath),
        target: "browser",
        format: "esm",
        minify: true,
      });
      const [output] = outputs;
      if (output === undefined || outputs.length > 1)
        throw new Error(`${group} was built as ${outputs.length} files`);
      return { group, path: toGroupPath(group), bytes: new Uint8Array(await output.arrayBuffer()) };
    }),
  );
}

/** Tells names of one module from those of others: of its content, so that it stays when another one changes. */
function toMark({ path, text }: SplitModule): string {
  return toHash(`${path} ${text}`).slice(0, MARK_LENGTH);
}

function exportsOf(text: string): readonly string[] {
  return new Bun.Transpiler({ loader: "js" }).scan(text).exports;
}
