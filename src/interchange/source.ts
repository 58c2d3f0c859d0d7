import { isAlias, isMap, isScalar, isSeq, LineCounter, parseDocument, type Node } from "yaml";

/** A value of a YAML file with the line, from 1, at which it stands. */
export type Source = SourceMap | SourceList | SourceScalar;

export interface SourceMap {
  readonly kind: "map";
  readonly line: number;
  /** In the order of the file. */
  readonly entries: ReadonlyMap<string, SourceEntry>;
}

export interface SourceEntry {
  /** The line of the key. */
  readonly line: number;
  readonly value: Source;
}

export interface SourceList {
  readonly kind: "list";
  readonly line: number;
  readonly values: readonly Source[];
}

export interface SourceScalar {
  readonly kind: "scalar";
  readonly line: number;
  readonly value: string | number | boolean | null;
}

/** What is wrong with a file, as a sentence for its author; it never repeats a value, which may be a secret. */
export interface Problem {
  readonly line: number;
  readonly sentence: string;
}

/** Something that a reader of a file has to know, of one of its lines. */
export interface Note {
  readonly line: number;
  readonly sentence: string;
}

/** Far above the largest catalog with its prices (some 3 MB), and read in a few seconds. */
export const SOURCE_LENGTH_MAX = 8 * 1024 * 1024;

/** The file could not be read as YAML; nothing of it is known. */
export class SourceError extends Error {
  override readonly name = "SourceError";
  readonly problem: Problem;

  constructor(problem: Problem) {
    super(problem.sentence);
    this.problem = problem;
  }
}

/** Reads one YAML 1.2 document, with anchors and merge keys followed. Throws a `SourceError`. */
export function parseSource(text: string): Source {
  if (text.length > SOURCE_LENGTH_MAX)
    throw refuse(1, `The file has more than ${SOURCE_LENGTH_MAX} characters.`);
  const lineCounter = new LineCounter();
  try {
    // The library compares each key of a map with every other, which takes minutes for a price list: done below instead.
    const document = parseDocument(text, { lineCounter, prettyErrors: false, uniqueKeys: false });
    const [error] = document.errors;
    // The library's messages quote what they stumbled over.
    if (error !== undefined)
      throw refuse(
        lineCounter.linePos(error.pos[0]).line,
        `The file is not YAML here: ${toFault(error.code)}.`,
      );
    return createReader((node) => lineCounter.linePos(node.range?.[0] ?? 0).line)(document.contents);
  } catch (cause) {
    if (cause instanceof RangeError) throw refuse(1, "The file is nested too deep.");
    throw cause;
  }
}

/** What the library's codes say, where there is something to do about it. */
const FAULTS: { readonly [code: string]: string } = {
  BAD_ALIAS: "& and * begin an anchor and a reference to it; in a text that begins so they need quotes",
  BAD_DIRECTIVE: "a line may not begin with %",
  BAD_DQ_ESCAPE:
    "a backslash in double quotes begins an escape, and this is none; in single quotes it is itself",
  BAD_INDENT: "the line is not indented as what it belongs to",
  BAD_SCALAR_START: "a text that begins with this character needs quotes",
  BLOCK_AS_IMPLICIT_KEY: "a text with a colon and a blank in it needs quotes",
  BLOCK_IN_FLOW: "between brackets or braces there are no lines of a list or map",
  KEY_OVER_1024_CHARS: "a key is longer than 1024 characters",
  MISSING_CHAR: "a quote, bracket, brace, comma, colon or blank is missing here or before",
  MULTILINE_IMPLICIT_KEY: "a key goes over several lines, or a colon or quote is missing",
  MULTIPLE_DOCS: "a second document begins, and one file holds one",
  RESOURCE_EXHAUSTION: "it is nested too deep",
  TAB_AS_INDENT: "a tab indents the line, where only blanks may",
  TAG_RESOLVE_FAILED: "a tag (!name) means nothing here; in a text that begins so it needs quotes",
};

function toFault(code: string): string {
  return FAULTS[code] ?? "something stands here that does not fit what is around it";
}

const MERGE_KEY = "<<";

function createReader(lineOf: (node: Node) => number) {
  // An anchored value is read once, so that anchors of anchors stay as small as they are written.
  const done = new Map<Node, Source | null>();
  // The library looks through the whole document for each reference. An anchor means the last one of its name before.
  const anchors = new Map<string, Node>();

  function read(value: unknown): Source {
    const node = isNode(value) ? value : null;
    if (node === null) return { kind: "scalar", line: 1, value: null };
    const known = done.get(node);
    if (known === null) throw refuse(lineOf(node), "An anchor refers to itself.");
    if (known !== undefined) return known;
    done.set(node, null);
    if (!isAlias(node) && node.anchor !== undefined) anchors.set(node.anchor, node);
    const source = readNew(node);
    done.set(node, source);
    return source;
  }

  function readNew(node: Node): Source {
    const line = lineOf(node);
    if (isAlias(node)) {
      const anchored = anchors.get(node.source);
      if (anchored === undefined) throw refuse(line, "No anchor of this name stands before.");
      return read(anchored);
    }
    if (isSeq(node)) return { kind: "list", line, values: node.items.map(read) };
    if (isScalar(node)) {
      const { value } = node;
      const isPlain =
        value === null ||
        typeof value === "string" ||
        typeof value === "number" ||
        typeof value === "boolean";
      if (isPlain) return { kind: "scalar", line, value };
    }
    if (!isMap(node)) throw refuse(line, "A value is text, a number, true or false, a list or a map.");

    const entries = new Map<string, SourceEntry>();
    const merged: SourceMap[] = [];
    for (const { key, value } of node.items) {
      if (!isScalar(key)) throw refuse(line, "A key is plain text.");
      const keyLine = lineOf(key);
      const name = String(key.value);
      const entry = { line: keyLine, value: read(value ?? null) };
      if (name === MERGE_KEY) {
        merged.push(...toMerged(entry.value));
        continue;
      }
      if (entries.has(name)) throw refuse(keyLine, "This key stands twice in the same map.");
      entries.set(name, entry.value.line === 1 && value === null ? withLine(entry) : entry);
    }
    // What is written beside a merge key goes before what it brings along, and the first that it names before the next.
    for (const map of merged)
      for (const [name, entry] of map.entries) if (!entries.has(name)) entries.set(name, entry);
    return { kind: "map", line, entries };
  }

  return read;
}

/** An empty value has no place of its own: it stands at its key. */
function withLine({ line }: SourceEntry): SourceEntry {
  return { line, value: { kind: "scalar", line, value: null } };
}

function toMerged(source: Source): readonly SourceMap[] {
  const maps = source.kind === "list" ? source.values : [source];
  return maps.map((map) => {
    if (map.kind === "map") return map;
    throw refuse(map.line, "A merge key (<<) takes a map or a list of maps.");
  });
}

function isNode(value: unknown): value is Node {
  return isMap(value) || isSeq(value) || isScalar(value) || isAlias(value);
}

function refuse(line: number, sentence: string): SourceError {
  return new SourceError({ line, sentence });
}
