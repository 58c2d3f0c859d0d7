import { join } from "node:path";

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
