/** Makes the web page: `ui/index.html` and all that it loads, as files in memory. The same source gives the same bytes in any folder. */
import { existsSync } from "node:fs";
import { extname, join } from "node:path";
import { bundleClassic, bundleModules, type Mode } from "./bundle.ts";
import { contentTypeOf, toPageFile, type PageFile } from "./file.ts";
import { checkHtml, findReferences, rewriteHtml } from "./html.ts";
import { toHash } from "./names.ts";
import { compileStyles } from "./styles.ts";

const UI_FOLDER = join(import.meta.dir, "../../ui");
/** The modules that Overview always draws: the files behind these count as the first load. */
const FIRST_PARTS = ["pages/overview.tsx"];
/** Pages that share a file, which is loaded for the first of them: what one of them needs the others mostly need as well. */
const PAGE_GROUPS = {
  reports: [
    "pages/usage.tsx",
    "pages/statement.tsx",
    "pages/requests.tsx",
    "pages/requests/column-popover.tsx",
    "pages/errors.tsx",
    "filters/comparison.tsx",
  ],
  models: [
    "pages/models.tsx",
    "pages/models/what-if.tsx",
    "pages/models/prices.tsx",
    "pages/models/repricing.tsx",
    "pages/models/price-history.tsx",
  ],
  own: ["pages/playground.tsx", "pages/secrets.tsx", "pages/settings.tsx", "pages/not-found.tsx"],
  admin: [
    "shell/admin-only.tsx",
    "pages/setup.tsx",
    "pages/providers.tsx",
    "pages/people.tsx",
    "pages/limits.tsx",
    "pages/reconcile.tsx",
    "pages/audit.tsx",
  ],
  shared: ["components/virtual-body.tsx"],
} as const;
/** Set in development only. */
const RELOAD_SCRIPT = join(UI_FOLDER, "reload-on-rebuild.ts");

export interface BuiltPage {
  /** Another one for any other content of any file. The html holds it as `<meta name="build-id">`. */
  readonly buildId: string;
  /** The html comes first. */
  readonly files: readonly PageFile[];
}

export interface PageOptions {
  /** `development` is not minified, has source maps, and loads itself anew when another build is served. */
  readonly mode?: Mode;
  /** Folder of `index.html`. */
  readonly folder?: string;
  /** Modules that share a file, by its name. */
  readonly groups?: { readonly [name: string]: readonly string[] };
  /** Modules that the entry loads later, and that a first visit needs all the same; from `folder`. */
  readonly firstParts?: readonly string[];
}

/** Throws when anything stands inline in the html, a file is missing, or the code needs more than a browser has. */
export async function buildPage({
  mode = "production",
  folder = UI_FOLDER,
  firstParts = folder === UI_FOLDER ? FIRST_PARTS : [],
  groups = folder === UI_FOLDER ? PAGE_GROUPS : {},
}: PageOptions = {}): Promise<BuiltPage> {
  const html = await Bun.file(join(folder, "index.html")).text();
  checkHtml(html);
  const assets = new Map<string, PageFile>();
  const links = new Map<string, string>();
  const preloads: string[] = [];
  const add = (file: PageFile): string => {
    assets.set(file.path, file);
    return file.path;
  };

  for (const reference of findReferences(html)) {
    const source = join(folder, reference);
    if (!existsSync(source)) throw new Error(`ui/index.html names ${reference}, which does not exist`);
    if (extname(source) === ".tsx") {
      const modules = await bundleModules({ entrypoint: source, folder, mode, firstParts, groups });
      for (const file of modules.files) add(file);
      links.set(reference, modules.entry);
      preloads.push(...modules.preloads);
    } else {
      links.set(reference, add(await buildFile(source, mode)));
    }
  }
  const reload =
    mode === "development"
      ? add(toPageFile(RELOAD_SCRIPT, await bundleClassic(RELOAD_SCRIPT, mode), { extension: ".js" }))
      : null;
  const files = [...assets.values()].sort((one, other) => (one.path < other.path ? -1 : 1));
  const contents = files.map(({ path, bytes }) => `${path} ${toHash(bytes)}`);
  const buildId = toHash(encode([html, ...contents].join("\n")));
  const page = rewriteHtml(html, { links, preloads, buildId, reload });
  checkHtml(page);
  return {
    buildId,
    files: [
      { path: "/", contentType: contentTypeOf(".html"), bytes: encode(page), isFirstLoad: true },
      ...files,
    ],
  };
}

/** Files that the html names beside its module: a classic script, a style sheet, or a file that is taken as it is. */
async function buildFile(source: string, mode: Mode): Promise<PageFile> {
  switch (extname(source)) {
    case ".ts":
      return toPageFile(source, await bundleClassic(source, mode), { extension: ".js", isFirstLoad: true });
    case ".css":
      return toPageFile(source, encode(await compileStyles(source)), { isFirstLoad: true });
    default:
      return toPageFile(source, await Bun.file(source).bytes(), { isFirstLoad: true });
  }
}

function encode(text: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(text);
}

/** The message of a failed build of the page; a bundle's faults with their files and lines. */
export function describeFailure(failure: unknown): string {
  const faults = failure instanceof AggregateError ? failure.errors.map((fault) => Bun.inspect(fault)) : [];
  const message = failure instanceof Error ? failure.message : String(failure);
  return ["the page was not built:", message, ...faults].join("\n");
}
