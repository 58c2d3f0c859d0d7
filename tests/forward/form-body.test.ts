import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import {
  cutForm,
  FORM_PARTS_MAX,
  FormScan,
  PART_HEAD_BYTES_MAX,
  parseForm,
  type ParsedForm,
  parseLargeForm,
  refuseDelimiterIn,
} from "#forward/form-body.ts";
import { scanInTurns } from "#forward/paced-scan.ts";
import { ProxyError } from "#kernel/errors.ts";
import { BOUNDARY, HOSTILE_FORMS, toForm } from "./hostile-forms.ts";

const TYPE = `multipart/form-data; boundary=${BOUNDARY}`;
const UPSTREAM = "org/whisper ü";
const MODEL = 'Content-Disposition: form-data; name="model"\r\n\r\nalias';
const FILE = 'Content-Disposition: form-data; name="file"; filename="a.mp3"\r\n\r\nbytes';

function parse(body: string, contentType: string | null = TYPE): ParsedForm {
  return parseForm(Buffer.from(body, "latin1"), contentType);
}

function refusalOf(run: () => unknown): { code: string | null; param: string | null } {
  try {
    run();
    return { code: null, param: null };
  } catch (failure) {
    if (!(failure instanceof ProxyError)) throw failure;
    return { code: failure.code, param: failure.param };
  }
}

function spliced(form: ParsedForm, name = UPSTREAM): string {
  return Buffer.concat(cutForm(form, Buffer.from(name))).toString("latin1");
}

describe("a form that parsers could read differently", () => {
  test.each(HOSTILE_FORMS.map(({ what, readers = "", ...form }) => ({ what, readers, ...form })))(
    "is invalid_multipart: $what (read by: $readers)",
    ({ body, contentType = TYPE }) => {
      expect(refusalOf(() => parse(body, contentType))).toEqual({ code: "invalid_multipart", param: null });
      try {
        parse(body, contentType);
      } catch (failure) {
        expect(String(failure)).not.toMatch(/dear|cheap|a\.mp3|form-0123456789/);
      }
    },
  );

  test("is refused for stream as for model: twice, as a file, encoded, under a name that is read as it", () => {
    const stream = (head: string) => toForm(MODEL, `${head}\r\n\r\ntrue`);
    for (const head of [
      'Content-Disposition: form-data; name="Stream"',
      'Content-Disposition: form-data; name="stream[]"',
      'Content-Disposition: form-data; name="stream"; filename="a"',
      'Content-Disposition: form-data; name="stream"\r\nContent-Transfer-Encoding: base64',
      'Content-Disposition: form-data; name="stream"\r\nContent-Type: text/plain; charset=utf-16',
      'Content-Disposition: form-data; name="stream"\r\n\r\nfalse\r\n' +
        `--${BOUNDARY}\r\nContent-Disposition: form-data; name="stream"`,
    ])
      expect(
        refusalOf(() => parse(stream(head))),
        head,
      ).toEqual({ code: "invalid_multipart", param: null });
  });

  test("leaves no second reading: what passes after damage is read alike by a parser that takes all it can", () => {
    const fragment = fc.constantFrom(
      "\r\n", "\n", "\r", " ", "\t", ";", '"', "\\", "=", "*", "%", "'", "[", "]", "-", "--", ":", "\0",
      'name="model"', "name=model", "filename=", "Model", "model", 'filename="x"', BOUNDARY, `--${BOUNDARY}`,
      `\r\n--${BOUNDARY}\r\n`, `\r\n--${BOUNDARY}--\r\n`, "Content-Disposition: form-data; ",
      'Content-Disposition: form-data; name="model"\r\n\r\ndear', "\r\n\r\n", `--${BOUNDARY}\n`,
    ); // prettier-ignore
    const part = fc.constantFrom(MODEL, FILE, 'Content-Disposition: form-data; name="language"\r\n\r\nen');
    const damaged = fc
      .tuple(
        fc.array(part, { maxLength: 3 }),
        fc.array(fc.tuple(fc.nat(), fc.nat({ max: 3 }), fragment), { maxLength: 3 }),
      )
      .map(([parts, cuts]) =>
        cuts.reduce(
          (text, [at, cut, piece]) => {
            const where = at % (text.length + 1);
            return text.slice(0, where) + piece + text.slice(where + cut);
          },
          toForm(MODEL, ...parts),
        ),
      );
    let passed = 0;
    fc.assert(
      fc.property(damaged, (body) => {
        const { code } = refusalOf(() => parse(body));
        if (code !== null) return;
        passed += 1;
        expect(readLeniently(body, BOUNDARY), body).toEqual([parse(body).model]);
      }),
      { numRuns: 6000 },
    );
    expect(passed).toBeGreaterThan(50);
  });
});

/** Every text that some parser could take for `model`. */
function readLeniently(body: string, boundary: string): string[] {
  const found: string[] = [];
  for (const piece of body.split(`--${boundary}`)) {
    const headEnd = /\r\n\r\n|\n\n|\r\r|$/.exec(piece);
    // A header with a name of its own is no part of these, nor are the folded lines behind it: `-Content-Disposition`.
    const head = piece
      .slice(0, headEnd?.index)
      .replaceAll(
        /(?<=^|[\r\n])(?!content-(?:disposition|type)\s*:)[\w-]+:[^\r\n]*(?:[\r\n]+[ \t][^\r\n]*)*/gi,
        "",
      );
    const value = piece.slice((headEnd?.index ?? 0) + (headEnd?.[0].length ?? 0));
    const names = Array.from(head.matchAll(/name[\s*0-9]*=\s*(?:"([^"]*)"?|'([^']*)'|([^;\s]*))/gi)).map(
      ([, quoted, single, token]) =>
        (quoted ?? single ?? token ?? "")
          .replaceAll(/%([0-9a-f]{2})?/gi, (_, hex = "0") => String.fromCharCode(Number.parseInt(hex, 16)))
          .toLowerCase()
          .replaceAll(/[\s\\'"\0]/g, ""),
    );
    // No parser takes a hyphen or a suffix off: `-model`, `model.mp3` and `model=a` are other names.
    if (names.some((name) => /^[^\w-]*model(?![\w.:=-])/.test(name))) found.push(value.replace(/\r\n$/, ""));
  }
  return found;
}

describe("a plain form", () => {
  test.each([
    ["Python (httpx)", 'Content-Disposition: form-data; name="model"'],
    ["Go", 'Content-Disposition: form-data; name="model"\r\nContent-Type: text/plain'],
    [".NET", "Content-Type: text/plain; charset=utf-8\r\nContent-Disposition: form-data; name=model"],
    ["aiohttp", 'Content-Type: text/plain; charset=utf-8\r\nContent-Disposition: form-data; name="model"'],
    ["OkHttp", 'Content-Disposition: form-data; name="model"\r\nContent-Length: 5'],
    [
      "Apache HttpClient",
      'Content-Disposition: form-data; name="model"\r\nContent-Type: text/plain; charset=ISO-8859-1\r\nContent-Transfer-Encoding: 8bit',
    ],
    ["Spring", 'content-disposition: form-data; name="model"\r\ncontent-type: text/plain;charset=UTF-8'],
    ["Ruby", 'Content-Disposition: form-data; name="model"\r\nContent-Transfer-Encoding: binary'],
  ])("as %s writes it is read and spliced", (_, head) => {
    const form = parse(toForm(FILE, `${head}\r\n\r\nalias`));
    expect(form).toMatchObject({ model: "alias", stream: false });
  });

  test.each([
    'Content-Disposition: form-data; name="file"; filename="a b (1).mp3"\r\nContent-Type: audio/mpeg',
    'Content-Disposition: form-data; name="file"; filename="_.mp3"; filename*=UTF-8\'\'%C3%BC.mp3',
    "Content-Disposition: form-data; name=file; filename=a.mp3; filename*=utf-8''a.mp3",
    'Content-Disposition: form-data; name="image[]"; filename="say \\"hi\\".png"\r\nContent-Type: image/png',
    'Content-Disposition: form-data; name="file"; filename="C:\\dir\\a;b.mp3"',
    'Content-Disposition: form-data; name="file"; filename="model.mp3"\r\nContent-Type: application/octet-stream',
    'Content-Disposition: form-data; name="file"; filename="a%22%0A.mp3"',
    'Content-Disposition: form-data; name="file"; filename="\xc3\xbc.mp3"\r\nContent-Transfer-Encoding: base64',
    'Content-Disposition: form-data; name="timestamp_granularities[]"',
    'Content-Disposition: form-data; name="chunking_strategy[type]"',
    'Content-Disposition: form-data; name="extra[model]"',
    'Content-Disposition: form-data; name="model_version"',
    'Content-Disposition: form-data; name="models"',
    'Content-Disposition: form-data; name="stream_format"',
  ])("may have the part %s", (head) => {
    const body = toForm(`${head}\r\n\r\nx`, MODEL);
    expect(spliced(parse(body))).toBe(body.replace("alias", Buffer.from(UPSTREAM).toString("latin1")));
  });

  test.each([
    `multipart/form-data; boundary="${BOUNDARY}"`,
    `multipart/form-data;boundary=${BOUNDARY}`,
    `Multipart/Form-Data; charset=utf-8; boundary=${BOUNDARY}`,
    `multipart/form-data; boundary=${BOUNDARY}; charset="UTF-8"`,
  ])("may have the content type %s", (contentType) => {
    expect(parse(toForm(MODEL), contentType).model).toBe("alias");
  });

  test("is streamed only where the text of stream is exactly true, and passes on any other", () => {
    const streamOf = (text: string) =>
      parse(toForm(MODEL, `Content-Disposition: form-data; name="stream"\r\n\r\n${text}`)).stream;
    expect(streamOf("true")).toBe(true);
    for (const text of ["false", "True", "1", "true ", "true\r\n", '"true"', "", "\0true"])
      expect(streamOf(text)).toBe(false);
    expect(parse(toForm(MODEL)).stream).toBe(false);
  });

  test("without a part model, or with an empty one, is model_required", () => {
    for (const body of [toForm(FILE), toForm(FILE, 'Content-Disposition: form-data; name="model"\r\n\r\n')])
      expect(refusalOf(() => parse(body))).toEqual({ code: "model_required", param: "model" });
  });

  test("has 1,000 parts and 16 KiB of headers a part at most", () => {
    const field = 'Content-Disposition: form-data; name="x"\r\n\r\n';
    const withParts = (count: number) => toForm(MODEL, ...Array.from({ length: count - 1 }, () => field));
    expect(parse(withParts(FORM_PARTS_MAX)).model).toBe("alias");
    expect(refusalOf(() => parse(withParts(FORM_PARTS_MAX + 1))).code).toBe("invalid_multipart");
    const withHead = (bytes: number) => {
      const head = 'Content-Disposition: form-data; name="x"\r\nX: ';
      return toForm(MODEL, `${head}${"a".repeat(bytes - head.length - 4)}\r\n\r\nx`);
    };
    expect(parse(withHead(PART_HEAD_BYTES_MAX)).model).toBe("alias");
    expect(refusalOf(() => parse(withHead(PART_HEAD_BYTES_MAX + 1))).code).toBe("invalid_multipart");
  });

  test("is refused where its boundary occurs in the upstream name, which would end the part", () => {
    const form = parse(toForm(MODEL));
    expect(refusalOf(() => refuseDelimiterIn(form, Buffer.from(UPSTREAM))).code).toBeNull();
    for (const name of [`--${BOUNDARY}--`, `a--${BOUNDARY}`])
      expect(refusalOf(() => refuseDelimiterIn(form, Buffer.from(name))).code).toBe("invalid_multipart");
    const quoted = parse(toForm(MODEL), `multipart/form-data; boundary="${BOUNDARY}"`);
    expect(refusalOf(() => refuseDelimiterIn(quoted, Buffer.from(`--"${BOUNDARY}"`))).code).toBe(
      "invalid_multipart",
    );
  });
});

interface MadePart {
  readonly name: string;
  readonly head: string;
  readonly value: Uint8Array;
}

/** Any form that a client may write, as its parts, and the two texts around each. */
const MADE_FORM = (() => {
  const boundary = fc
    .string({ unit: fc.constantFrom(...Array.from("abcXYZ019'()+_,./:=?-")), minLength: 1, maxLength: 70 })
    .map((text) =>
      /^[A-Za-z0-9'+_.-]+$/.test(text) ? { text, written: text } : { text, written: `"${text}"` },
    );
  const bytes = fc.oneof(
    fc.uint8Array({ maxLength: 300 }),
    fc
      .string({ unit: fc.constantFrom("\r", "\n", "-", "--", "a", "b", '"', "\0"), maxLength: 60 })
      .map((text) => Buffer.from(text)),
  );
  const further = fc.constantFrom(
    "",
    "\r\nContent-Type: text/plain",
    "\r\nX-A: b",
    "\r\nContent-Transfer-Encoding: binary",
  );
  const before = fc.constantFrom("", "Content-Type: text/plain; charset=utf-8\r\n");
  const named = (name: string, written: string, text: fc.Arbitrary<Uint8Array>) =>
    fc.tuple(before, further, text).map(([first, last, value]): MadePart => {
      const head = `Content-Disposition: form-data; ${written}${last}`;
      return { name, head: last.includes("Type") ? head : first + head, value };
    });
  const other = fc
    .tuple(
      fc.constantFrom("file", "language", "image[]", "x.y", "models"),
      fc.constantFrom("", '; filename="a b.mp3"', '; filename="\\\\x"', "; filename*=utf-8''%C3%BC"),
    )
    .chain(([name, rest]) => named(name, `name="${name}"${rest}`, bytes));
  const alias = fc.stringMatching(/^[A-Za-z0-9._:/-]{1,60}$/).map((text) => Buffer.from(text));
  const model = fc
    .constantFrom('name="model"', "name=model")
    .chain((written) => named("model", written, alias));
  const told = fc.constantFrom("true", "false", "True", "").map((text) => Buffer.from(text));
  const stream = named("stream", 'name="stream"', told);
  return fc
    .tuple(
      boundary,
      model,
      fc.option(stream),
      fc.array(other, { maxLength: 5 }),
      fc.nat(),
      fc.nat(),
      fc.boolean(),
    )
    .map(([{ text, written }, modelPart, streamPart, others, modelAt, streamAt, endsLine]) => {
      const parts = [...others];
      if (streamPart !== null) parts.splice(streamAt % (parts.length + 1), 0, streamPart);
      parts.splice(modelAt % (parts.length + 1), 0, modelPart);
      return { text, written, parts, endsLine };
    });
})();

interface Made {
  readonly text: string;
  readonly parts: readonly MadePart[];
  readonly endsLine: boolean;
}

function write({ text, parts, endsLine }: Made, name?: string): Buffer {
  return Buffer.concat([
    ...parts.flatMap((part) => [
      Buffer.from(`--${text}\r\n${part.head}\r\n\r\n`),
      part.name === "model" && name !== undefined ? Buffer.from(name) : part.value,
      Buffer.from("\r\n"),
    ]),
    Buffer.from(`--${text}--${endsLine ? "\r\n" : ""}`),
  ]);
}

/** Whether a delimiter stands anywhere but where it belongs: such a form is refused. */
function isAmbiguous(made: Made): boolean {
  const count = (whole: string, text: string) => whole.split(text).length - 1;
  const whole = write(made).toString("latin1");
  let places = 0;
  for (let at = whole.indexOf(`--${made.text}`); at !== -1; at = whole.indexOf(`--${made.text}`, at + 1))
    places += 1;
  return places !== made.parts.length + 1 || count(whole, `--"${made.text}`) > 0;
}

describe("a form that is spliced", () => {
  test("keeps every byte but the value of model, whatever its boundary, its order and its parts", () => {
    let passed = 0;
    fc.assert(
      fc.property(MADE_FORM, fc.nat({ max: 40 }), (made, step) => {
        const body = write(made);
        const contentType = `multipart/form-data; boundary=${made.written}`;
        if (isAmbiguous(made)) return;
        passed += 1;
        const form = parseForm(body, contentType);
        const [alias, stream] = ["model", "stream"].map((name) =>
          made.parts.find((part) => part.name === name)?.value.toString(),
        );
        expect(form).toMatchObject({ model: alias, stream: stream === "true" });
        expect(Buffer.concat(cutForm(form, Buffer.from(UPSTREAM))).equals(write(made, UPSTREAM))).toBe(true);
        // Pieces of the body that came: a large file is never copied.
        for (const piece of [
          cutForm(form, Buffer.from(UPSTREAM))[0],
          cutForm(form, Buffer.from(UPSTREAM))[2],
        ])
          expect(piece?.buffer).toBe(body.buffer);
        expect(scanInSteps(body, contentType, step + 1)).toEqual(form);
      }),
      { numRuns: 1500 },
    );
    expect(passed).toBeGreaterThan(500);
  });

  test("is refused or read the same in steps of every size", () => {
    const forms = [
      ...HOSTILE_FORMS.map(({ body, contentType = TYPE }) => ({ body, contentType })),
      { body: toForm(FILE, MODEL), contentType: TYPE },
    ];
    for (const { body, contentType } of forms) {
      const bytes = Buffer.from(body, "latin1");
      const whole = refusalOf(() => parseForm(bytes, contentType));
      for (const step of [1, 2, 3, 17, 64, bytes.length])
        expect(refusalOf(() => scanInSteps(bytes, contentType, Math.max(1, step)))).toEqual(whole);
    }
  });

  test("finds a delimiter at every place around the edges of its steps", async () => {
    const edge = 64 * 1024;
    for (const size of Array.from(
      { length: 2 * (BOUNDARY.length + 8) },
      (_, index) => edge - 200 + index * 4,
    )) {
      const body = Buffer.from(
        toForm(`Content-Disposition: form-data; name="file"; filename="a"\r\n\r\n${"-".repeat(size)}`, MODEL),
      );
      expect(await parseLargeForm(body, TYPE)).toEqual(parseForm(body, TYPE));
    }
  });

  test("finds model behind a file of 60 MB, lets others have their turn, and copies nothing", async () => {
    const head = Buffer.from(
      `--${BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n`,
    );
    const rest = Buffer.from(`\r\n--${BOUNDARY}\r\n${MODEL}\r\n--${BOUNDARY}--\r\n`);
    const body = Buffer.concat([head, Buffer.alloc(60_000_000, `\r\n--${BOUNDARY.slice(1)}\n`), rest]);
    let turns = 0;
    let isOver = false;
    const count = () => {
      turns += 1;
      if (!isOver) setImmediate(count);
    };
    setImmediate(count);
    const form = await scanInTurns(new FormScan(body, TYPE), 0);
    isOver = true;
    expect(form.model).toBe("alias");
    expect(turns).toBeGreaterThan(100);
    const pieces = cutForm(form, Buffer.from(UPSTREAM));
    expect(pieces.map(({ buffer }) => buffer === body.buffer)).toEqual([true, false, true]);
    expect(pieces.reduce((sum, { length }) => sum + length, 0)).toBe(
      body.length - "alias".length + Buffer.byteLength(UPSTREAM),
    );
  });
});

function scanInSteps(body: Uint8Array, contentType: string, stepBytes: number): ParsedForm {
  const scan = new FormScan(body, contentType);
  for (;;) {
    const scanned = scan.run(scan.at + stepBytes);
    if (scanned !== null) return scanned;
  }
}
