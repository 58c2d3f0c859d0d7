import * as fc from "fast-check";

/** The word that stands for content in a body: no answer of ours repeats it. */
export type Marker = string;

const MODELS = ["m", "m", "m", "", "none", "../m", "M", "m ", "__proto__"];
const STREAMS = [false, null, 1, 0, "true", [], {}, 1.5];
const KEYS = [
  "messages",
  "input",
  "user",
  "stream_options",
  "tools",
  "__proto__",
  "constructor",
  "toString",
  "MODEL",
  "Stream",
  "\u017ftream",
  "Stream_Options",
  "INPUT",
  "\u0131nput",
  "model ",
  "n",
];

/** A document as text, so that numbers, escapes and repeated keys are as hostile as they can be. */
function documentOf(marker: Marker): fc.Arbitrary<string> {
  const text = fc.oneof(
    fc.constant(`"${marker}"`),
    fc.string({ unit: "binary", maxLength: 12 }).map((value) => JSON.stringify(value)),
    fc.constantFrom('"\\ud800"', '"\\u0000"', '"\\u006dodel"', '"a\\/b"', '"\\udbff\\udfff"'),
  );
  const number = fc.oneof(
    {
      weight: 12,
      arbitrary: fc.constantFrom("0", "-0", "1e400", "-1e400", "1E+2", "0.1e-400", "7".repeat(40)),
    },
    { weight: 1, arbitrary: fc.constantFrom("01", "1.", ".5", "NaN", "undefined") },
  );
  const value: fc.Arbitrary<string> = fc
    .letrec((tie) => ({
      value: fc.oneof(
        { maxDepth: 4, withCrossShrink: true },
        text,
        number,
        fc.constantFrom("null", "true", "false", "{}", "[]", '{"INCLUDE_USAGE":0}', '{"include_usage":0}'),
        fc.array(tie("value"), { maxLength: 4 }).map((items) => `[${items.join(",")}]`),
        fc
          .array(fc.tuple(text, tie("value")), { maxLength: 4 })
          .map((pairs) => `{${pairs.map(([key, one]) => `${key}:${String(one)}`).join(",")}}`),
      ),
    }))
    .value.map(String);
  const key = fc.constantFrom(...KEYS).map((name) => JSON.stringify(name));
  const field = fc.oneof(
    { weight: 4, arbitrary: fc.constantFrom(...MODELS).map((model) => `"model":${JSON.stringify(model)}`) },
    {
      weight: 1,
      arbitrary: fc.constantFrom('"\\u006dodel":"m"', '"model":7', '"model":null', '"model":["m"]'),
    },
    {
      weight: 2,
      arbitrary: fc.constantFrom(...STREAMS).map((stream) => `"stream":${JSON.stringify(stream)}`),
    },
    { weight: 4, arbitrary: fc.tuple(key, value).map(([name, one]) => `${name}:${one}`) },
  );
  const blank = fc.constantFrom("", " ", "\n", "\t\r\n ");
  return fc
    .tuple(blank, fc.array(field, { maxLength: 6 }), blank)
    .map(([before, fields, after]) => `${before}{${fields.join(",")}}${after}`);
}

/** Documents, documents with holes, and what is none at all. */
export function bodiesOf(marker: Marker): fc.Arbitrary<Buffer> {
  const document = documentOf(marker).map((text) => Buffer.from(text));
  const mutated = fc
    .tuple(
      document,
      fc.array(fc.tuple(fc.nat(), fc.integer({ min: 0, max: 255 }), fc.nat({ max: 3 })), {
        minLength: 1,
        maxLength: 3,
      }),
    )
    .map(([bytes, changes]) => {
      let changed = bytes;
      for (const [where, byte, kind] of changes) {
        const at = where % (changed.length + 1);
        const cut = Math.min(changed.length, at + (kind === 0 ? 0 : 1));
        const put = kind === 2 ? Buffer.alloc(0) : Buffer.of(byte);
        changed =
          kind === 3
            ? changed.subarray(0, at)
            : Buffer.concat([changed.subarray(0, at), put, changed.subarray(cut)]);
      }
      return changed;
    });
  const deep = fc
    .tuple(fc.constantFrom("[", '{"a":'), fc.integer({ min: 1, max: 4_000 }), fc.boolean())
    .map(([open, depth, isClosed]) => {
      const end = (open === "[" ? "]" : "}").repeat(isClosed ? depth : 0);
      return Buffer.from(`{"model":"m","messages":${open.repeat(depth)}${open === "[" ? "" : "1"}${end}}`);
    });
  const marked = document.map((bytes) => Buffer.concat([Buffer.from("\ufeff"), bytes]));
  const noise = fc.uint8Array({ maxLength: 60 }).map((bytes) => Buffer.from(bytes));
  return fc.oneof(
    { weight: 6, arbitrary: document },
    { weight: 3, arbitrary: mutated },
    { weight: 1, arbitrary: deep },
    { weight: 1, arbitrary: marked },
    { weight: 1, arbitrary: noise },
  );
}

/**
 * What the specification has a body answered with, told apart from the code; a set where it leaves a choice. `read`: the fields
 * that its endpoint reads.
 */
export function toExpected(body: Buffer, read: readonly string[]): readonly string[] {
  const document = parse(body);
  if (document === undefined) return ["invalid_json"];
  if (typeof document !== "object" || document === null || Array.isArray(document)) return ["model_required"];
  const fields = new Map(Object.entries(document));
  const isLookalike = hasLookalike(document, read);
  const options = read.includes("stream_options") ? fields.get("stream_options") : null;
  if (isLookalike || hasLookalike(options, ["include_usage"])) return ["invalid_request"];
  const model = fields.get("model");
  if (typeof model !== "string" || model === "") return ["model_required"];
  if (model !== "m") return ["model_not_found"];
  // What `stream` is when it is neither true, false nor null is refused; a very deep body may be.
  const stream = read.includes("stream") ? fields.get("stream") : null;
  if (stream !== undefined && stream !== null && typeof stream !== "boolean")
    return ["invalid_request", "ok"];
  return isDeep(document) ? ["ok", "invalid_json"] : ["ok"];
}

/** True for a member that is named as one of these but for case, as Unicode folds it. */
function hasLookalike(value: unknown, fields: readonly string[]): boolean {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  return Object.keys(value).some((key) =>
    fields.some((field) => key !== field && new RegExp(`^${field}$`, "iu").test(key)),
  );
}

/** The model that a body asks for; empty where it asks for none. */
export function toModel(body: Buffer): string {
  const { model } = Object(parse(body));
  return typeof model === "string" ? model : "";
}

const DEPTH = 500;

function parse(body: Buffer): unknown {
  try {
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(body);
    return text.startsWith("\ufeff") ? undefined : JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isDeep(value: unknown, depth = 0): boolean {
  if (typeof value !== "object" || value === null) return false;
  return depth > DEPTH || Object.values(value).some((each) => isDeep(each, depth + 1));
}

/** Forms that clients write, and forms with damage. */
export function formsOf(marker: Marker, boundary: string): fc.Arbitrary<Buffer> {
  const part = fc.constantFrom(
    'name="model"\r\n\r\nm',
    'name="model"\r\n\r\nm',
    'name="model"\r\n\r\nnone',
    'name="model"\r\n\r\n',
    'name="stream"\r\n\r\ntrue',
    `name="prompt"\r\n\r\n${marker}`,
    `name="file"; filename="${marker}.mp3"\r\nContent-Type: audio/mpeg\r\n\r\n${marker}`,
    `name="Model"\r\n\r\n${marker}`,
  );
  const damage = fc.constantFrom(
    "\r\n",
    "\n",
    "\r",
    "\0",
    '"',
    "\\",
    ";",
    "--",
    `--${boundary}`,
    marker,
    "=",
    " ",
  );
  return fc
    .tuple(
      fc.array(part, { maxLength: 4 }),
      fc.array(fc.tuple(fc.nat(), fc.nat({ max: 3 }), damage), { maxLength: 2 }),
    )
    .map(([parts, cuts]) => {
      const written = parts.map((each) => `--${boundary}\r\nContent-Disposition: form-data; ${each}\r\n`);
      const form = `${written.join("")}--${boundary}--\r\n`;
      return Buffer.from(
        cuts.reduce((text, [at, cut, piece]) => {
          const where = at % (text.length + 1);
          return text.slice(0, where) + piece + text.slice(where + cut);
        }, form),
      );
    });
}
