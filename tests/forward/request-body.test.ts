import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import type { EndpointName } from "#catalog/endpoint.ts";
import { parseRequestBody, spliceBody, toJsonText } from "#forward/request-body.ts";
import { ProxyError } from "#kernel/errors.ts";
import { NAMED_MEMBERS_MAX } from "#forward/json-scan.ts";

const UPSTREAM = 'org/"the" model ü';
const UPSTREAM_JSON = JSON.stringify(UPSTREAM);

describe("what a body must be", () => {
  const invalid: readonly [string, Uint8Array | string][] = [
    ["nothing at all", ""],
    ["blanks only", " \n"],
    ["a byte-order mark", Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), Buffer.from('{"model":"a"}')])],
    [
      "invalid UTF-8 in a string",
      Buffer.concat([Buffer.from('{"model":"a'), Buffer.from([0xff]), Buffer.from('"}')]),
    ],
    [
      "an overlong encoding",
      Buffer.concat([Buffer.from('{"model":"'), Buffer.from([0xc0, 0xaf]), Buffer.from('"}')]),
    ],
    [
      "an encoded surrogate",
      Buffer.concat([Buffer.from('{"model":"'), Buffer.from([0xed, 0xa0, 0x80]), Buffer.from('"}')]),
    ],
    ["UTF-16", Buffer.from('{"model":"a"}', "utf16le")],
    ["something behind its end", '{"model":"a"} x'],
    ["two objects", '{"model":"a"}{"model":"b"}'],
    ["a NUL behind its end", '{"model":"a"}\0'],
    ["an unclosed object", '{"model":"a"'],
    ["an unclosed string", '{"model":"a'],
    ["a line break in a string", '{"model":"a\nb"}'],
    ["a NUL in a string", '{"model":"a\0b"}'],
    ["a comma too many", '{"model":"a",}'],
    ["a comma too many in an array", '{"model":"a","x":[1,]}'],
    ["a missing colon", '{"model" "a"}'],
    ["a missing value", '{"model":}'],
    ["a key without quotes", '{model:"a"}'],
    ["single quotes", "{'model':'a'}"],
    ["a comment", '{"model":"a"/*x*/}'],
    ["a leading zero", '{"model":"a","x":01}'],
    ["a plus sign", '{"model":"a","x":+1}'],
    ["a bare minus", '{"model":"a","x":-}'],
    ["a point without digits", '{"model":"a","x":1.}'],
    ["a number that begins with a point", '{"model":"a","x":.5}'],
    ["an exponent without digits", '{"model":"a","x":1e}'],
    ["NaN", '{"model":"a","x":NaN}'],
    ["Infinity", '{"model":"a","x":Infinity}'],
    ["True", '{"model":"a","stream":True}'],
    ["a cut word", '{"model":"a","stream":tru}'],
    ["an unknown escape", '{"model":"a\\x41"}'],
    ["a short unicode escape", '{"model":"a\\u12"}'],
    ["a unicode escape that is none", '{"model":"a\\u12g4"}'],
    ["a closing bracket of the other kind", '{"model":"a","x":[1}'],
    ["another kind of blank", '{"model":\u00a0"a"}'],
  ];
  test.each(invalid)("%s is invalid_json", (_, body) => {
    expect(refusalOf(body)).toEqual({ code: "invalid_json", param: null });
  });

  const noModel: readonly [string, string][] = [
    ["an array", '["model"]'],
    ["a string", '"model"'],
    ["a number", " 1 "],
    ["null", "null"],
    ["an empty object", "{}"],
    ["a model that is a number", '{"model":1}'],
    ["an empty model", '{"model":""}'],
    ["null as its model", '{"model":null}'],
    ["a model deeper inside only", '{"x":{"model":"a"}}'],
    ["a model whose last occurrence is not a string", '{"model":"a","model":[]}'],
    ["a key that only resembles model", '{"models":"a","model ":"b","mod\u00e9l":"c"}'],
  ];
  test.each(noModel)("%s is model_required, naming the parameter", (_, body) => {
    expect(refusalOf(body)).toEqual({ code: "model_required", param: "model" });
  });

  test("a body 100,000 levels deep is read without recursion, and an unclosed one is refused", () => {
    const levels = 100_000;
    const deep = `{"model":"a","x":${"[".repeat(levels)}${"]".repeat(levels)}}`;
    expect(parse(deep).model).toBe("a");
    const mixed = `{"model":"a","x":${'{"y":['.repeat(levels)}1${"]}".repeat(levels)}}`;
    expect(parse(mixed).model).toBe("a");
    expect(refusalOf("[".repeat(levels)).code).toBe("invalid_json");
  });

  test("a refusal never quotes the body", () => {
    const messages = invalid.map(([, body]) => messageOf(body.length === 0 ? "secret-text" : body));
    messages.push(messageOf('{"model":"a","secret-text":"secret-text\u0001"}'));
    for (const message of messages) expect(message).not.toContain("secret-text");
  });

  test("a field repeated without end is refused, so that rewriting cannot make a body grow hundredfold", () => {
    const body = `{${'"model":0,'.repeat(NAMED_MEMBERS_MAX)}"model":"a"}`;
    expect(refusalOf(body).code).toBe("invalid_json");
    expect(parse(`{${'"model":0,'.repeat(NAMED_MEMBERS_MAX - 1)}"model":"a"}`).model).toBe("a");
  });

  test("what is valid agrees with JSON.parse for arbitrary and for damaged texts", () => {
    const fragment = fc.constantFrom(
      ...Array.from('{}[]",:\\ntfu0123456789eE+-. \t\r\n'),
      '"a"',
      '"model"',
      "true",
      "false",
      "null",
      "\\u00e9",
      "\\ud83d",
      "1.5e3",
      "é",
      "\u2028",
      "😀",
      "\0",
    );
    const soup = fc.array(fragment, { maxLength: 30 }).map((pieces) => pieces.join(""));
    const damaged = fc
      .tuple(fc.json({ maxDepth: 3 }), fc.nat(), fc.nat({ max: 2 }), fragment)
      .map(([text, at, cut, piece]) => {
        const where = at % (text.length + 1);
        return text.slice(0, where) + piece + text.slice(where + cut);
      });
    fc.assert(
      fc.property(fc.oneof(soup, damaged, fc.json()), (raw) => {
        const text = raw.toWellFormed();
        expect(refusalOf(`{"model":"a","x":${text}}`).code === null, text).toBe(
          isJson(`{"model":"a","x":${text}}`),
        );
        expect(refusalOf(text).code === "invalid_json", text).toBe(!isJson(text));
      }),
      { numRuns: 1500 },
    );
  });
});

/**
 * What encoding/json of Go 1.26 takes for a field (`json.Unmarshal` into tags of these names, run by hand): equal after simple
 * case folding. Of characters beyond ASCII it folds U+017F to s and U+212A to k, and no other to a letter of ASCII.
 */
const LOOKALIKES: readonly [body: string, field: string][] = [
  ['{"model":"cheap","MODEL":"dear"}', "model"],
  ['{"MODEL":"dear","model":"cheap"}', "model"],
  ['{"Model":"dear"}', "model"],
  [String.raw`{"model":"cheap","\u004dodel":"dear"}`, "model"],
  ['{"model":"a","Stream":true}', "stream"],
  ['{"model":"a","\u017ftream":true}', "stream"],
  [String.raw`{"model":"a","\u017Ftream":true}`, "stream"],
  ['{"model":"a","stream":false,"STREAM":true}', "stream"],
  ['{"model":"a","stream":true,"Stream_Options":{"include_usage":false}}', "stream_options"],
  ['{"model":"a","\u017ftream_option\u017f":null}', "stream_options"],
  ['{"model":"a","stream":true,"stream_options":{"Include_Usage":false}}', "include_usage"],
  ['{"model":"a","stream_options":{"include_u\u017fage":false}}', "include_usage"],
  [
    String.raw`{"model":"a","stream":true,"stream_options":{"include_usage":true,"\u0049NCLUDE_USAGE":0}}`,
    "include_usage",
  ],
];

/** What Go's decoder takes for no field of that name, and what is read at another place or not at all. */
const NO_LOOKALIKES: readonly [body: string, endpoint: EndpointName][] = [
  ['{"model":"a","models":[],"mode":1,"model ":1,"modell":1,"_model":1}', "chat"],
  ['{"model":"a","\uff4dodel":"wide","mod\u0435l":"Cyrillic","mod\u00e9l":"accent"}', "chat"],
  ['{"model":"a","streamOptions":{},"stream-options":{},"stream_option":{}}', "chat"],
  ['{"model":"a","\u0131nput":["dotless"],"\u0130nput":["dotted"]}', "embeddings"],
  ['{"model":"a","x":{"Model":"b","Stream":true,"Input":[]}}', "chat"],
  ['{"model":"a","Input":"chat reads none","Include_Usage":true}', "chat"],
  ['{"model":"a","Stream":true,"Stream_Options":1}', "embeddings"],
  ['{"model":"a","stream":true,"stream_options":{"x":{"Include_Usage":false},"Model":1}}', "chat"],
];

describe("a name that only looks different", () => {
  test.each(LOOKALIKES)(
    "%s is invalid_request and names the field that it could be read as",
    (body, field) => {
      expect(refusalOf(body)).toEqual({ code: "invalid_request", param: field });
      expect(messageOf(body)).not.toContain("dear");
    },
  );

  test.each([
    ["input", '{"model":"a","INPUT":[1]}'],
    ["model", '{"model":"a","mODEL":"b"}'],
  ])("of %s is refused for embeddings", (field, body) => {
    const refuse = () => parse(body, "embeddings");
    expect(refuse).toThrow(expect.objectContaining({ code: "invalid_request", param: field }));
  });

  test.each(NO_LOOKALIKES)("%s is another name, and passes as it is (%s)", (body, endpoint) => {
    expect(parse(body, endpoint).model).toBe("a");
    const withoutOwn = ({ model: _model, stream_options: _options, ...others }: Record<string, unknown>) =>
      others;
    expect(withoutOwn(JSON.parse(spliced(body, endpoint)))).toEqual(withoutOwn(JSON.parse(body)));
  });

  test("is found exactly where a pattern that ignores case by Unicode's rule finds one, however it is written", () => {
    const fields = ["model", "stream", "stream_options"] as const;
    const alike: { readonly [letter: string]: readonly string[] } = {
      s: ["s", "S", "\u017f"],
      k: ["k", "K", "\u212a"],
    };
    const letter = (plain: string) =>
      fc.oneof(
        { weight: 20, arbitrary: fc.constantFrom(...(alike[plain] ?? [plain, plain.toUpperCase()])) },
        { weight: 1, arbitrary: fc.constantFrom("", "x", "\u0131", "\u0435", "\u{1d5c6}", "-", "\u00df") },
      );
    const written = (character: string) =>
      fc.boolean().map((isEscaped) => (isEscaped ? toEscapes(character) : character));
    const key = fc
      .constantFrom(...fields)
      .chain((field) => fc.tuple(...Array.from(field, (plain) => letter(plain).chain(written))))
      .map((pieces) => pieces.join(""));
    fc.assert(
      fc.property(key, (raw) => {
        const name: string = JSON.parse(`"${raw}"`);
        const found = fields.find((field) => field !== name && new RegExp(`^${field}$`, "iu").test(name));
        const told = refusalOf(`{"model":"a","${raw}":null,"model":"a"}`);
        expect(told, raw).toEqual(
          found === undefined ? { code: null, param: null } : { code: "invalid_request", param: found },
        );
      }),
      { numRuns: 3000 },
    );
  });
});

/** Each code unit as an escape. */
function toEscapes(text: string): string {
  return Array.from(
    { length: text.length },
    (_, at) => String.raw`\u${text.charCodeAt(at).toString(16).padStart(4, "0")}`,
  ).join("");
}

describe("what is read", () => {
  test("stream counts only when it is JSON true, and embeddings ignore it", () => {
    const streamOf = (value: string, endpoint: EndpointName = "chat") =>
      parse(`{"model":"a","stream":${value}}`, endpoint).stream;
    expect(streamOf("true")).toBe(true);
    for (const value of ["false", "null"]) expect(streamOf(value)).toBe(false);
    expect(streamOf("true", "completions")).toBe(true);
    expect(streamOf("true", "embeddings")).toBe(false);
  });

  test.each(["1", "0", '"true"', '"yes"', '""', "[true]", "[]", '{"a":true}'])(
    "a stream that is %s is neither true nor false, but for embeddings, which pass it on",
    (value) => {
      const body = `{"model":"a","stream":${value}}`;
      for (const endpoint of ["chat", "completions"] as const)
        expect(parse(body, endpoint)).toMatchObject({ stream: false, isStreamTold: false });
      expect(parse(body, "embeddings")).toMatchObject({ stream: false, isStreamTold: true });
      // The last occurrence counts, and what goes upstream holds no other.
      expect(parse(`{"model":"a","stream":true,"stream":${value}}`).isStreamTold).toBe(false);
      const told = parse(`{"stream":${value},"model":"a","stream":null}`);
      expect(told.isStreamTold).toBe(true);
      expect(Buffer.from(spliceBody(told, toJsonText("b"))).toString()).toBe(
        '{"stream":false,"model":"b","stream":null}',
      );
    },
  );

  test.each([64 * 1024 - 1, 64 * 1024, 64 * 1024 + 1])(
    "a body of %i bytes has memory of its own, or a part of what others are spliced in, and never all of that",
    (sizeBytes) => {
      const splice = (letter: string) => {
        const rest = sizeBytes - '{"model":"b","user":""}'.length;
        return spliceBody(parse(`{"model":"a","user":"${letter.repeat(rest)}"}`), toJsonText("b"));
      };
      const body = splice("x");
      const isPart = body.length < body.buffer.byteLength;
      splice("y");
      expect(body).toHaveLength(sizeBytes);
      expect(body.includes(0x79)).toBe(isPart);
    },
  );

  test("a key in escapes names a field exactly when JSON.parse says so, and costs no text of its own", () => {
    const spelled = fc
      .tuple(
        fc.constantFrom("model", "mode", "models", "modem", 'm"del', "mod\tl", "é", "\ud83d"),
        fc.array(fc.constantFrom("plain", "lower", "upper"), { minLength: 7, maxLength: 7 }),
      )
      .map(([name, ways]) =>
        Array.from({ length: name.length }, (_, index) => {
          const hex = name.charCodeAt(index).toString(16).padStart(4, "0");
          if (ways[index] === "plain" && /[a-z]/.test(name[index] ?? "")) return name[index];
          return `\\u${ways[index] === "upper" ? hex.toUpperCase() : hex}`;
        }).join(""),
      );
    fc.assert(
      fc.property(
        fc.oneof(
          spelled,
          fc.json().map((text) => JSON.stringify(text).slice(1, -1)),
        ),
        (key) => {
          const body = `{"${key}":"a"}`;
          const named = JSON.parse(body).model === "a";
          expect(refusalOf(body).code, body).toBe(named ? null : "model_required");
        },
      ),
    );
    expect(parse('{"mo\\u0064el":"a"}').model).toBe("a");
    expect(refusalOf('{"mod\\/el":"a","\\b\\f\\n\\r\\t":"a"}').code).toBe("model_required");
  });

  test("of a repeated or escaped field the last occurrence counts", () => {
    expect(parse('{"model":"a","model":"b"}').model).toBe("b");
    expect(parse('{"model":"a","mod\\u0065l":"b"}').model).toBe("b");
    expect(parse('{"\\u006d\\u006f\\u0064\\u0065\\u006c":"b"}').model).toBe("b");
    expect(parse('{"model":"a","stream":true,"stream":false}').stream).toBe(false);
    expect(parse('{"model":"a\\n\\u00e9\\"/"}').model).toBe('a\né"/');
  });

  test("items of an array input are counted without their content; anything else is not counted", () => {
    const countOf = (input: string) => parse(`{"model":"a","input":${input}}`, "embeddings").inputItemCount;
    expect(countOf("[]")).toBe(0);
    expect(countOf("[ ]")).toBe(0);
    expect(countOf('["a"]')).toBe(1);
    expect(countOf('["a", "b,]" ,[1,2,3],{"x":[1,2]},null]')).toBe(5);
    expect(countOf(`[${"0,".repeat(4999)}0]`)).toBe(5000);
    expect(countOf('"text, with, commas"')).toBeNull();
    expect(countOf('{"a":[1,2,3]}')).toBeNull();
    // No upstream may read a larger batch than the one that was counted.
    expect(parse('{"model":"a","input":[1,2,3],"input":[1]}', "embeddings").inputItemCount).toBe(3);
    expect(parse('{"input":[1,2],"model":"a"}', "embeddings").inputItemCount).toBe(2);
    expect(parse('{"model":"a","input":[1,2,3]}', "chat").inputItemCount).toBeNull();
  });
});

describe("what goes upstream", () => {
  const table: readonly [string, string, string][] = [
    [
      "only the model's value changes",
      '{ "model" : "a" , "n":1.0, "n":1e400 }',
      `{ "model" : ${UPSTREAM_JSON} , "n":1.0, "n":1e400 }`,
    ],
    [
      "a model deeper inside stays",
      '{"model":"a","x":{"model":"a"}}',
      `{"model":${UPSTREAM_JSON},"x":{"model":"a"}}`,
    ],
    [
      "every occurrence of the model is rewritten",
      '{"model":7,"m\\u006fdel":"a"}',
      `{"model":${UPSTREAM_JSON},"m\\u006fdel":${UPSTREAM_JSON}}`,
    ],
    [
      "without streaming the options stay",
      '{"model":"a","stream":false,"stream_options":{"x":1}}',
      `{"model":${UPSTREAM_JSON},"stream":false,"stream_options":{"x":1}}`,
    ],
    [
      "streamed options are made",
      '{"model":"a","stream":true}',
      `{"model":${UPSTREAM_JSON},"stream":true,"stream_options":{"include_usage":true}}`,
    ],
    [
      "include_usage is put into an empty object",
      '{"stream_options":{ },"model":"a","stream":true}',
      `{"stream_options":{ "include_usage":true},"model":${UPSTREAM_JSON},"stream":true}`,
    ],
    [
      "other members stay",
      '{"stream_options":{ "a" : [1.0] },"model":"a","stream":true}',
      `{"stream_options":{ "a" : [1.0] ,"include_usage":true},"model":${UPSTREAM_JSON},"stream":true}`,
    ],
    [
      "include_usage is forced",
      '{"stream_options":{"include_usage" : false,"a":1},"model":"a","stream":true}',
      `{"stream_options":{"include_usage" : true,"a":1},"model":${UPSTREAM_JSON},"stream":true}`,
    ],
    [
      "and at each of its occurrences",
      '{"stream_options":{"include_usage":false,"include\\u005fusage":{}},"model":"a","stream":true}',
      `{"stream_options":{"include_usage":true,"include\\u005fusage":true},"model":${UPSTREAM_JSON},"stream":true}`,
    ],
    [
      "options that are no object are replaced",
      '{"stream_options":null,"model":"a","stream":true}',
      `{"stream_options":{"include_usage":true},"model":${UPSTREAM_JSON},"stream":true}`,
    ],
    [
      "an include_usage deeper inside does not count",
      '{"stream_options":{"x":{"include_usage":false}},"model":"a","stream":true}',
      `{"stream_options":{"x":{"include_usage":false},"include_usage":true},"model":${UPSTREAM_JSON},"stream":true}`,
    ],
    [
      "of repeated options the last is kept, the others are replaced",
      '{"stream_options":{"a":1},"stream_options":{"b":2},"model":"a","stream":true}',
      `{"stream_options":{"include_usage":true},"stream_options":{"b":2,"include_usage":true},"model":${UPSTREAM_JSON},"stream":true}`,
    ],
    [
      "a repeated stream says the same everywhere",
      '{"stream":true,"model":"a","stream":false}',
      `{"stream":false,"model":${UPSTREAM_JSON},"stream":false}`,
    ],
    [
      "also the other way round",
      '{"stream":0,"model":"a","stream":true}',
      `{"stream":true,"model":${UPSTREAM_JSON},"stream":true,"stream_options":{"include_usage":true}}`,
    ],
  ];
  test.each(table)("%s", (_, body, upstream) => {
    expect(spliced(body)).toBe(upstream);
    expect(isJson(upstream)).toBe(true);
  });

  test("embeddings keep stream and stream_options as they are", () => {
    const body = '{"model":"a","stream":true,"stream_options":{"include_usage":false},"input":["x"]}';
    expect(spliced(body, "embeddings")).toBe(body.replace('"a"', UPSTREAM_JSON));
  });

  test("arbitrary bodies arrive byte-equal outside the named values", () => {
    const blank = fc
      .array(fc.constantFrom(" ", "\n", "\t", "\r"), { maxLength: 2 })
      .map((blanks) => blanks.join(""));
    const oddity = fc.constantFrom(
      "12345678901234567890",
      "1.0",
      "-0",
      "1e400",
      "1E+2",
      '"\\ud800"',
      '"\\/"',
      '"\u2028😀"',
      '{"model":"a","model":1}',
      '{"__proto__":1}',
      "[ [ ] , { } ]",
      '"\\u0000"',
      '{"stream":true,"stream_options":7}',
    );
    const value = fc.oneof(
      oddity,
      fc.json({ maxDepth: 2 }).map((text) => text.toWellFormed()),
    );
    const otherKey = fc.string({ maxLength: 6 }).map((key) => JSON.stringify(`x${key.toWellFormed()}`));
    const other = fc.record({ key: otherKey, value, becomes: fc.constant(null) });
    const model = fc.record({
      key: fc.constantFrom('"model"', '"mod\\u0065l"', '"\\u006Dodel"'),
      value: fc.constant('"a"'),
      becomes: fc.constant(UPSTREAM_JSON),
    });
    fc.assert(
      fc.property(
        fc.array(fc.oneof(other, model), { maxLength: 8 }),
        model,
        fc.infiniteStream(blank),
        (members, last, blanks) => {
          // The expected body is put together beside the one that is sent, without looking at either.
          let sent = "";
          let expected = "";
          const both = (text: string) => {
            sent += text;
            expected += text;
          };
          const space = () => both(blanks.next().value ?? "");
          space();
          both("{");
          for (const [index, member] of [...members, last].entries()) {
            if (index > 0) both(",");
            space();
            both(member.key);
            space();
            both(":");
            space();
            sent += member.value;
            expected += member.becomes ?? member.value;
            space();
          }
          both("}");
          space();
          expect(spliced(sent)).toBe(expected);
        },
      ),
      { numRuns: 600 },
    );
  });

  test("a streamed body asks for usage and keeps every other value", () => {
    const members = fc.array(fc.tuple(fc.string({ maxLength: 5 }), fc.jsonValue({ maxDepth: 2 })), {
      maxLength: 4,
    });
    fc.assert(
      fc.property(
        members,
        members,
        fc.boolean(),
        fc.option(fc.jsonValue({ maxDepth: 1 })),
        (rest, options, inside, include) => {
          const given = Object.fromEntries([
            ...options,
            ...(inside ? [["include_usage", include] as const] : []),
          ]);
          const body = { ...Object.fromEntries(rest), model: "a", stream: true, stream_options: given };
          const arrived: unknown = JSON.parse(spliced(JSON.stringify(body).toWellFormed()));
          expect(arrived).toEqual(
            JSON.parse(
              JSON.stringify({ ...body, model: UPSTREAM, stream_options: { ...given, include_usage: true } }),
            ),
          );
        },
      ),
      { numRuns: 400 },
    );
  });
});

function parse(body: Uint8Array | string, endpoint: EndpointName = "chat") {
  return parseRequestBody(typeof body === "string" ? Buffer.from(body) : body, endpoint);
}

function spliced(body: string, endpoint: EndpointName = "chat"): string {
  return Buffer.from(spliceBody(parse(body, endpoint), toJsonText(UPSTREAM))).toString();
}

function refusal(body: Uint8Array | string): ProxyError | null {
  try {
    parse(body);
    return null;
  } catch (failure) {
    if (failure instanceof ProxyError) return failure;
    throw failure;
  }
}

function refusalOf(body: Uint8Array | string): { code: string | null; param: string | null } {
  const failure = refusal(body);
  return { code: failure?.code ?? null, param: failure?.param ?? null };
}

function messageOf(body: Uint8Array | string): string {
  return refusal(body)?.message ?? "";
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
