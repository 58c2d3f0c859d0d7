/** The pages refer to existing commands, options, settings, metrics, routes, pages and files. */
import { describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { FOREIGN_NAMES } from "#boot/settings/config.ts";
import { SETTINGS } from "#boot/settings/settings.ts";
import { findMisnaming, findMistake, listCommandLines } from "./command-lines.ts";
import { listAnchors, listLinks, listSpans, readPages, ROOT, toPage } from "./pages.ts";

const pages = await readPages();

describe("every `lockport …` of the documentation", () => {
  test("in a block is a command with options and arguments that exist", async () => {
    const mistakes = [];
    let count = 0;
    for (const { path, blocks } of pages) {
      for (const { text, line } of blocks) {
        for (const args of listCommandLines(text, EXAMPLE_VALUES)) {
          count += 1;
          const mistake = await findMistake(args);
          if (mistake !== null) mistakes.push({ at: `${path}:${line}`, args, mistake });
        }
      }
    }
    expect(mistakes).toEqual([]);
    expect(count).toBeGreaterThan(100);
  });

  test("in the running text is one as far as it goes", async () => {
    const mistakes = [];
    for (const page of pages) {
      for (const { line, text } of listSpans(page)) {
        if (!/^lockport [a-z-]/.test(text)) continue;
        for (const args of listCommandLines(text, EXAMPLE_VALUES)) {
          const mistake = await findMisnaming(args);
          if (mistake !== null) mistakes.push({ at: `${page.path}:${line}`, text, mistake });
        }
      }
    }
    expect(mistakes).toEqual([]);
  });

  test("would be found wrong with a word, an option, a choice or a needed argument that is not right", async () => {
    for (const line of [
      "lockport kee list",
      "lockport key list --prinzipal ada",
      "lockport usage --by wat",
      "lockport key delete",
    ]) {
      const [args] = listCommandLines(line);
      expect({ line, mistake: await findMistake(args!) }).not.toEqual({ line, mistake: null });
    }
    for (const span of ["lockport nope", "lockport key nope", "lockport key create --nope"]) {
      const [args] = listCommandLines(span);
      expect({ span, mistake: await findMisnaming(args!) }).not.toEqual({ span, mistake: null });
    }
    const text =
      'A=1 lockport key list # not this\nKEY=$(lockport key create --principal "$P") && echo lockport no\n';
    expect(listCommandLines(text, new Map([["P", "ada"]]))).toEqual([
      ["key", "list"],
      ["key", "create", "--principal", "ada"],
    ]);
  });
});

test("every PROXY_ variable of the documentation is a setting, or one that the start ignores", () => {
  const names = new Set([...Object.values(SETTINGS).map(({ name }) => name), ...FOREIGN_NAMES]);
  const unknown = pages.flatMap(({ path, text }) =>
    [...text.matchAll(/\bPROXY_[A-Z][A-Z_]*\b/g)]
      .map(([name]) => name)
      .filter((name) => !names.has(name))
      .map((name) => `${path}: ${name}`),
  );
  expect(unknown).toEqual([]);
});

test("every link of the documentation leads to a file that is there, and to a heading in it", async () => {
  const byPath = new Map(pages.map((page) => [page.path, page]));
  const dead: string[] = [];
  for (const page of pages) {
    for (const { line, target } of listLinks(page)) {
      if (/^(?:https?|mailto):/.test(target)) continue;
      const [file = "", anchor] = target.split("#");
      const path = file === "" ? page.path : normalize(join(dirname(page.path), file));
      const at = `${page.path}:${line}: ${target}`;
      if (!existsSync(join(ROOT, path))) dead.push(at);
      else if (anchor !== undefined) {
        const there = byPath.get(path) ?? toPage(path, await Bun.file(join(ROOT, path)).text());
        if (!listAnchors(there).has(anchor)) dead.push(at);
      }
    }
  }
  expect(dead).toEqual([]);
});

test("every file of the repository that is named in a sentence is there", () => {
  const missing = pages.flatMap((page) =>
    listSpans(page)
      .filter(({ text }) => /^(?:contrib|docs|tests|src|bench|ui)\/[\w./-]+$/.test(text))
      .filter(({ text }) => !existsSync(join(ROOT, text)))
      .map(({ line, text }) => `${page.path}:${line}: ${text}`),
  );
  expect(missing).toEqual([]);
});

test("every route that is named with its method is one of docs/api.md", async () => {
  const api = await Bun.file(join(ROOT, "docs/api.md")).text();
  const cells = api.split("\n").map((line) => line.split(" | ", 1)[0] ?? "");
  const served = new Set(
    cells.flatMap((cell) =>
      [...cell.matchAll(/`([A-Z]+ \/[^`]*)`/g)].map(([, route = ""]) => toShape(route)),
    ),
  );
  expect(served.size).toBeGreaterThan(40);
  const unknown = pages.flatMap((page) =>
    page.path === "docs/api.md"
      ? []
      : listSpans(page)
          .flatMap(({ line, text }) => {
            const route = /^((?:GET|POST|PUT|PATCH|DELETE) \/[^\s?]*)/.exec(text)?.[1];
            return route === undefined ? [] : [{ line, route }];
          })
          .filter(({ route }) => !served.has(toShape(route)))
          .map(({ line, route }) => `${page.path}:${line}: ${route}`),
  );
  expect(unknown).toEqual([]);
});

test("every metric that is named is one of docs/metrics.md", async () => {
  const listed = await Bun.file(join(ROOT, "docs/metrics.md")).text();
  const known = new Set([...listed.matchAll(/^\| `(\w+)`/gm)].map(([, name = ""]) => name));
  const unknown = pages.flatMap((page) =>
    page.path === "docs/metrics.md"
      ? []
      : listSpans(page).flatMap(({ line, text }) =>
          [
            ...text.matchAll(
              /\bproxy_\w+_(?:total|bytes|seconds|exchanges|streams|running|queries|combinations)\b/g,
            ),
          ]
            .map(([name]) => name)
            .filter((name) => !known.has(name))
            .map((name) => `${page.path}:${line}: ${name}`),
        ),
  );
  expect(unknown).toEqual([]);
});

/** Values for variables whose shape an option checks. */
const EXAMPLE_VALUES = new Map([["BASE_URL", "http://127.0.0.1:4000"]]);

/** `GET /v1/models/{id}` and `GET /v1/models/:id` are one. */
function toShape(route: string): string {
  return route.replaceAll(/\{[^}]+\}|:[a-z_]+/g, "*").replaceAll("…", "*");
}
