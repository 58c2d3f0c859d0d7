import { expect, test } from "bun:test";
import { join } from "node:path";
import { listNodes, readCommandTree } from "#cli/screen/help.ts";
import { createProgram } from "#cli/program.ts";
import {
  COMMAND_LINE_PAGE,
  SHARED_OPTIONS,
  SILENT_TERMINAL,
  toCommandLinePage,
} from "../../contrib/docs/command-line.ts";
import { ROOT } from "./pages.ts";

test("docs/command-line.md is what `npm run docs` makes of the commands, and leaves no command and no option out", async () => {
  const page = await Bun.file(join(ROOT, COMMAND_LINE_PAGE)).text();
  expect(page).toBe(await toCommandLinePage());
  // Every one that can be run: `export` and `errors` also have commands below them.
  const runnable = listNodes(readCommandTree(await createProgram(SILENT_TERMINAL))).filter(
    ({ path, commands }) => commands.length === 0 || ["export", "errors"].includes(path.join(" ")),
  );
  const headings = [...page.matchAll(/^### lockport (.+)$/gm)].map(([, path]) => path);
  expect(headings).toEqual(runnable.map(({ path }) => path.join(" ")));
  const sections = page.split(/^### /m).slice(1);
  for (const [index, { path, options }] of runnable.entries()) {
    const flags = options.map(({ names }) => names.at(-1)!).filter((flag) => flag !== "--help");
    const missing = flags.filter(
      (flag) => !SHARED_OPTIONS.includes(flag) && !sections[index]!.includes(flag),
    );
    expect({ path, missing }).toEqual({ path, missing: [] });
    const without = /\(Without (.+)\.\)/.exec(sections[index]!)?.[1]?.split(" and ") ?? [];
    const lacked = SHARED_OPTIONS.filter((flag) => !flags.includes(flag));
    expect({ path, without }).toEqual({ path, without: lacked.map((flag) => `\`${flag}\``) });
  }
});
