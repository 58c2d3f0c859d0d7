/**
 * The pages are followed as a reader would: their shell blocks run in order, page by page, in an empty folder with the built
 * executable, a model server standing for the provider. docs/README.md says how a page marks its blocks.
 */
import { afterAll, describe, expect, test } from "bun:test";
import { dirname, join, normalize } from "node:path";
import { executable } from "../support/executable.ts";
import { postgresMissing } from "../support/postgres.ts";
import { readPages, type Block, type Page } from "./pages.ts";
import { createReader, type Reader } from "./reader.ts";

const PAGE_MS_MAX = 120_000;

/** Shell blocks that are not run, by their first line, each with the reason. */
const NOT_RUN: readonly (readonly [page: string, firstLine: string, reason: string])[] = [
  [
    "docs/operations.md",
    "lockport service print | sudo tee /etc/systemd/system/lockport.service",
    "it installs a service of this machine; tests/cli/service.test.ts has the unit checked by systemd",
  ],
  [
    "docs/operations.md",
    "docker build -f contrib/docker/Dockerfile -t lockport dist",
    "it needs Docker; tests/contrib/deployments.test.ts reads these files",
  ],
  ["docs/guides/notices.md", "lockport notice test", "it needs a webhook; tests/cli/notice.test.ts has one"],
  [
    "docs/guides/notices.md",
    'lockport limit set "everyone: month" --amount 500 --per month --warn',
    "it is an example of a limit; tests/cli/limit.test.ts sets such ones",
  ],
  [
    "docs/guides/prices.md",
    "lockport reprice plan --prices prices.json --since 2026-03-01",
    "it names a plan that was made; tests/cli/reprice.test.ts makes one",
  ],
  [
    "docs/operations.md",
    "0 3 * * * lockport backup --data-dir /var/lib/lockport /backups/lockport-$(date +\\%F).tar.zst",
    "a line for cron; the command in it is run above",
  ],
];

/** Pages whose blocks are held to their meaning by other tests. */
const TESTED_ELSEWHERE: ReadonlyMap<string, string> = new Map([
  [
    "docs/command-line.md",
    "generated from the commands' own help, whose examples tests/cli/tree.test.ts checks",
  ],
]);

const KINDS = ["variables", "run", "serve"];

const pages = await readPages();
const isShell = ({ words }: Block) => words[0] === "sh";
const kindOf = ({ words }: Block) => words[1] ?? null;

describe("the pages", () => {
  test("mark each shell block as run, or it is listed here with the reason why it is not", () => {
    const unmarked = pages
      .filter(({ path }) => !TESTED_ELSEWHERE.has(path))
      .flatMap((page) => page.blocks.filter(isShell).map((block) => ({ page, block })))
      .filter(({ block }) => !KINDS.includes(kindOf(block) ?? ""))
      .map(({ page, block }) => `${page.path}: ${firstLine(block)}`);
    const listed = NOT_RUN.map(([page, line]) => `${page}: ${line}`);
    expect(unmarked.toSorted()).toEqual(listed.toSorted());
  });

  test("have no block with an unknown mark", () => {
    const marks = pages.flatMap(({ path, blocks }) =>
      blocks
        .filter(({ words }) => words.length > 1)
        .map(({ words, line }) => ({ at: `${path}:${line}`, mark: words.join(" ") })),
    );
    const known = new Set([
      ...KINDS.map((kind) => `sh ${kind}`),
      "sh run stopped",
      "sh serve another",
      "text output",
    ]);
    expect(marks.filter(({ mark }) => !known.has(mark))).toEqual([]);
  });
});

describe("followed by a reader who has only the executable", () => {
  const followed = pages.filter((page) =>
    page.blocks.some((block) => isShell(block) && kindOf(block) !== null),
  );

  test("are at least the first ten minutes and the operations", () => {
    expect(followed.map(({ path }) => path)).toEqual(
      expect.arrayContaining(["docs/first-ten-minutes.md", "docs/operations.md"]),
    );
  });

  for (const page of followed) {
    const needsPostgres = page.text.includes("\nexport DATABASE_URL=");
    test.skipIf(needsPostgres && postgresMissing !== null)(
      `${page.path} does what it says, command by command`,
      async () => {
        const beginning = findBeginning(page);
        if (beginning !== null) return follow(page, await readerAfter(beginning));
        const reader = await createReader(await executable());
        try {
          await follow(page, reader);
        } finally {
          await reader.leave();
        }
      },
      PAGE_MS_MAX,
    );
  }
});

/** Several pages begin where the same one ends: it is followed once for all of them. */
const readers = new Map<Page, Promise<Reader>>();
afterAll(async () => {
  for (const reader of readers.values()) await (await reader).leave();
});

async function readerAfter(beginning: Page): Promise<Reader> {
  const found = readers.get(beginning);
  const making = found ?? executable().then(createReader);
  readers.set(beginning, making);
  const reader = await making;
  if (found === undefined) {
    await follow(beginning, reader);
    await reader.remember();
  }
  await reader.goBack();
  return reader;
}

/** The page that this one says it begins after. */
function findBeginning({ path, text }: Page): Page | null {
  const link = /You begin where \[[^\]]+\]\(([^)]+)\) ends?/.exec(text)?.[1];
  if (link === undefined) return null;
  const before = normalize(join(dirname(path), link));
  const found = pages.find((page) => page.path === before);
  if (found === undefined) throw new Error(`${path}: there is no ${before} to begin after`);
  return found;
}

async function follow(page: Page, reader: Reader): Promise<void> {
  let output: string | null = null;
  for (const block of page.blocks) {
    const at = `${page.path}:${block.line}`;
    const mark = block.words.join(" ");
    if (mark === "sh variables") await reader.fillIn(block);
    else if (mark === "sh run") output = await reader.run(block);
    else if (mark === "sh run stopped") output = await reader.runStopped(block);
    else if (mark === "sh serve") output = await reader.serve(block);
    else if (mark === "sh serve another") output = await reader.serveAnother(block);
    else if (mark === "text output") {
      if (output === null) throw new Error(`${at}: no command stands before this output`);
      const missing = findMissing(reader.localise(block.text), output);
      expect({ at, missing, output: missing === null ? null : output }).toEqual({
        at,
        missing: null,
        output: null,
      });
    }
  }
}

/** The first line of `shown` that `output` does not have after the lines before it; `…` stands for anything. */
function findMissing(shown: string, output: string): string | null {
  let rest = squeeze(output);
  for (const line of squeeze(shown)) {
    const pattern = new RegExp(
      `^${line
        .split("…")
        .map((part) => RegExp.escape(part))
        .join(".*")}$`,
    );
    const at = rest.findIndex((each) => pattern.test(each));
    if (at < 0) return line;
    rest = rest.slice(at + 1);
  }
  return null;
}

/** Lines without what only makes columns. */
function squeeze(text: string): string[] {
  return text.split("\n").flatMap((line) => line.replaceAll(/\s+/g, " ").trim() || []);
}

function firstLine({ text }: Block): string {
  return text.split("\n", 1)[0] ?? "";
}
