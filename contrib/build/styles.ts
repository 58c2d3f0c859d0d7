import { compile, optimize } from "@tailwindcss/node";
import { Scanner } from "@tailwindcss/oxide";
import { dirname, join } from "node:path";

/** The one page that is made by the server itself. */
const SERVER_PAGE = {
  base: join(import.meta.dir, "../../src/http/api"),
  pattern: "sso-page.ts",
  negated: false,
};

/** A style sheet with the Tailwind classes that the code beside it uses, minified. Throws when it would load another file. */
export async function compileStyles(path: string): Promise<string> {
  const base = dirname(path);
  const compiler = await compile(await Bun.file(path).text(), { base, onDependency: () => {} });
  const scanner = new Scanner({
    sources: [{ base, pattern: "**/*.{ts,tsx,html}", negated: false }, SERVER_PAGE, ...compiler.sources],
  });
  // In one order, whatever order the files were read in: the same source gives the same bytes.
  const { code } = optimize(compiler.build(scanner.scan().sort()), { file: path, minify: true });
  const foreign = /@import\b[^;]*|url\((?!["']?data:)[^)]*\)/.exec(code);
  if (foreign !== null) throw new Error(`${path} loads another file: ${foreign[0]}`);
  return code;
}
