import { join } from "node:path";

export const ROOT = join(import.meta.dir, "../..");

/** A fenced block of a page. */
export interface Block {
  /** The words after the fence: the language, then what the page says of it. */
  readonly words: readonly string[];
  readonly text: string;
  /** The line of its fence, from 1. */
  readonly line: number;
}

export interface Page {
  /** From the root of the repository. */
  readonly path: string;
  readonly text: string;
  readonly blocks: readonly Block[];
  /** Everything that stands in no block, by line. */
  readonly prose: readonly { readonly line: number; readonly text: string }[];
}

/** The pages that a reader follows. The specification, which came from elsewhere, is not among them. */
export async function readPages(): Promise<readonly Page[]> {
  const docs = [...new Bun.Glob("docs/**/*.md").scanSync(ROOT)].filter(
    (path) => !path.startsWith("docs/spec/"),
  );
  const paths = ["README.md", "SECURITY.md", "CONTRIBUTING.md", ...docs.sort()];
  return Promise.all(paths.map(async (path) => toPage(path, await Bun.file(join(ROOT, path)).text())));
}

export function toPage(path: string, text: string): Page {
  const blocks: Block[] = [];
  const prose: { line: number; text: string }[] = [];
  const lines = text.split("\n");
  for (let at = 0; at < lines.length; at += 1) {
    const line = lines[at] ?? "";
    const fence = /^( *)(`{3,})(.*)$/.exec(line);
    if (fence === null) {
      prose.push({ line: at + 1, text: line });
      continue;
    }
    const [, indent = "", ticks = "", info = ""] = fence;
    const end = lines.findIndex((each, index) => index > at && each === indent + ticks);
    if (end < 0) throw new Error(`${path}:${at + 1}: this block has no end`);
    const content = lines
      .slice(at + 1, end)
      .map((each) => (each.startsWith(indent) ? each.slice(indent.length) : each));
    const words = info
      .trim()
      .split(/\s+/)
      .filter((word) => word !== "");
    blocks.push({ words, text: content.join("\n"), line: at + 1 });
    at = end;
  }
  return { path, text, blocks, prose };
}

/** The names of headings as GitHub makes them into anchors. */
export function listAnchors({ prose }: Page): ReadonlySet<string> {
  const headings = prose.flatMap(({ text }) => /^#+ (.+)$/.exec(text)?.[1] ?? []);
  return new Set(
    headings.map((heading) =>
      heading
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N} _-]/gu, "")
        .replaceAll(" ", "-"),
    ),
  );
}

export interface Link {
  readonly line: number;
  readonly target: string;
}

/** The targets of links and pictures, those to other sites included. */
export function listLinks({ prose }: Page): readonly Link[] {
  return prose.flatMap(({ line, text }) =>
    [...text.matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = ""]) => ({ line, target })),
  );
}

/** `code` in the running text. */
export function listSpans({ prose }: Page): readonly { readonly line: number; readonly text: string }[] {
  return prose.flatMap(({ line, text }) =>
    [...text.matchAll(/`([^`]+)`/g)].map(([, span = ""]) => ({ line, text: span })),
  );
}
