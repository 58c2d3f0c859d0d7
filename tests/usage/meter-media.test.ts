import { describe, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Quantities } from "#kernel/units.ts";
import { DIALECTS } from "#usage/dialects.ts";
import { type Meter, type MeterOptions, createMeter } from "#usage/meter.ts";

const folder = join(import.meta.dir, "../fixtures/media");
type Name = "transcription" | "speech" | "images" | "rerank";

const IMAGE_TOKENS = { input_tokens: 50, output_tokens: 100, input_image_tokens: 40 };
const READINGS: { readonly [fixture: string]: readonly [Name, Quantities | null] } = {
  "transcription-tokens": ["transcription", { input_tokens: 14, output_tokens: 45, input_audio_tokens: 10 }],
  "transcription-duration": ["transcription", { audio_seconds: 9 }],
  "transcription-without-usage": ["transcription", null],
  speech: ["speech", { input_tokens: 14, output_tokens: 101 }],
  "images-generated": ["images", IMAGE_TOKENS],
  "images-edited": ["images", IMAGE_TOKENS],
  "images-without-usage": ["images", { images: 2 }],
  "images-with-usage-at-last": ["images", IMAGE_TOKENS],
};

describe("streams of audio and images", () => {
  test("every fixture has a reading and every reading a fixture", () => {
    const names = readdirSync(folder).map((file) => file.replace(".sse", ""));
    expect(names.sort()).toEqual(Object.keys(READINGS).sort());
  });

  test.each(Object.entries(READINGS))(
    "%s is metered alike with each line end, cut anywhere, byte by byte, and with content of any length",
    (name, [meter, quantities]) => {
      const text = readFileSync(join(folder, `${name}.sse`), "utf8");
      const expected = {
        usage: quantities === null ? null : { shape: "inclusive" as const, quantities },
        errorKind: null,
        complete: true,
      };
      for (const lineEnd of ["\n", "\r\n", "\r"]) {
        const bytes = Buffer.from(text.replaceAll("\n", lineEnd));
        expect(read(meter, [bytes])).toEqual(expected);
        expect(
          read(
            meter,
            [...bytes].map((byte) => Uint8Array.of(byte)),
          ),
        ).toEqual(expected);
        for (let cut = 1; cut < bytes.length; cut += 11)
          expect(read(meter, [bytes.subarray(0, cut), bytes.subarray(cut)])).toEqual(expected);
      }
      const long = Buffer.from(text.replaceAll("iVBORw0KGgo=", "iVBORw0KGgo".repeat(20_000)));
      expect(read(meter, [long])).toEqual(expected);
      // Broken off before its last event: nothing was told, and no partial image is one.
      const last = text.lastIndexOf("\n\nevent: ");
      const cut = read(meter, [Buffer.from(text.slice(0, last + 2))]);
      if (!name.startsWith("images-with"))
        expect(cut).toEqual({ usage: null, errorKind: null, complete: false });
    },
  );

  test.each(["transcription", "speech", "images", "rerank"] as const)(
    "an error event of %s has its kind and no usage",
    (meter) => {
      const event = 'event: error\ndata: {"type":"error","code":"server_error","message":"x"}\n\n';
      expect(read(meter, [Buffer.from(event)])).toEqual({
        usage: null,
        errorKind: "server_error",
        complete: false,
      });
    },
  );
});

const TOKENS = { type: "tokens", input_tokens: 14, output_tokens: 45 };
const toImages = (length: number) => Array.from({ length }, () => IMAGE);
const IMAGE = { b64_json: "x".repeat(3000), revised_prompt: "y" };
const CASES: readonly [Name, string, unknown, Quantities | null][] = [
  ["transcription", "text alone", { text: "x" }, null],
  ["transcription", "seconds", { text: "x", usage: { type: "duration", seconds: 9 } }, { audio_seconds: 9 }],
  [
    "transcription",
    "tokens, the audio's in them",
    { text: "x", usage: { ...TOKENS, input_token_details: { text_tokens: 4, audio_tokens: 10 } } },
    { input_tokens: 14, output_tokens: 45, input_audio_tokens: 10 },
  ],
  [
    "transcription",
    "the usage before the top-level duration",
    { duration: 8.47, usage: TOKENS },
    { input_tokens: 14, output_tokens: 45 },
  ],
  ["transcription", "the top-level duration alone", { duration: 8.47, text: "x" }, { audio_seconds: 8.47 }],
  [
    "transcription",
    "the top-level duration beside a usage that tells nothing",
    { duration: 8.47, usage: { type: "duration", seconds: null } },
    { audio_seconds: 8.47 },
  ],
  [
    "transcription",
    "a type that says which fields count",
    { usage: { ...TOKENS, type: "duration", seconds: 9 } },
    { audio_seconds: 9 },
  ],
  [
    "transcription",
    "seconds beside tokens are none",
    { usage: { ...TOKENS, seconds: 9 } },
    { input_tokens: 14, output_tokens: 45 },
  ],
  [
    "transcription",
    "a usage without a type, by its fields",
    { usage: { seconds: 9, input_tokens: 14, output_tokens: 45 } },
    { audio_seconds: 9, input_tokens: 14, output_tokens: 45 },
  ],
  [
    "transcription",
    "Mistral's seconds beside its tokens",
    { usage: { prompt_audio_seconds: 203, prompt_tokens: 14, completion_tokens: 45, total_tokens: 59 } },
    { audio_seconds: 203, input_tokens: 14, output_tokens: 45 },
  ],
  ["transcription", "a duration that is no quantity", { duration: "8.47" }, null],
  ["speech", "nothing", { usage: { input_tokens: 1 } }, null],
  [
    "images",
    "tokens, and no count beside them",
    {
      data: [IMAGE],
      usage: { input_tokens: 50, output_tokens: 100, input_tokens_details: { image_tokens: 40 } },
    },
    IMAGE_TOKENS,
  ],
  ["images", "no usage", { created: 1, data: [{ url: "x" }] }, { images: 1 }],
  ["images", "a usage that tells nothing", { data: [IMAGE, IMAGE], usage: {} }, { images: 2 }],
  [
    "images",
    "zeroes of a gateway that knows no tokens",
    { data: [IMAGE, IMAGE], usage: { input_tokens: 0, output_tokens: 0, total_tokens: 0 } },
    { input_tokens: 0, output_tokens: 0, images: 2 },
  ],
  [
    "images",
    "a zero beside tokens, and no count",
    { data: [IMAGE], usage: { input_tokens: 0, output_tokens: 100 } },
    { input_tokens: 0, output_tokens: 100 },
  ],
  ["images", "more than two large images", { data: toImages(10) }, { images: 10 }],
  ["images", "a hundred", { data: toImages(100) }, { images: 100 }],
  ["images", "no images", { data: [] }, { images: 0 }],
  ["images", "neither", { created: 1, data: "x" }, null],
  [
    "rerank",
    "search units",
    { results: [{ index: 0 }], meta: { billed_units: { search_units: 2 }, tokens: { input_tokens: 9 } } },
    { search_units: 2 },
  ],
  [
    "rerank",
    "search units before a total of tokens",
    { usage: { total_tokens: 7 }, meta: { billed_units: { search_units: 1 } } },
    { search_units: 1 },
  ],
  [
    "rerank",
    "OpenRouter's search units before its total of tokens",
    { results: [], usage: { search_units: 1, total_tokens: 150 } },
    { search_units: 1 },
  ],
  [
    "rerank",
    "Cohere's search units before others",
    { usage: { search_units: 3 }, meta: { billed_units: { search_units: 2 } } },
    { search_units: 2 },
  ],
  ["rerank", "a total of tokens", { data: [], usage: { total_tokens: 7 } }, { input_tokens: 7 }],
  [
    "rerank",
    "the total before the tokens of meta",
    { usage: { total_tokens: 7 }, meta: { tokens: { input_tokens: 9 } } },
    { input_tokens: 7 },
  ],
  ["rerank", "the tokens of meta", { meta: { tokens: { input_tokens: 9 } } }, { input_tokens: 9 }],
  ["rerank", "nothing", { results: [], meta: { billed_units: {} } }, null],
  ["rerank", "odd shapes", { meta: [1], usage: "x" }, null],
];

describe("unary answers of audio, images and rerank", () => {
  test.each(CASES)("of %s: %s", (meter, _, body, quantities) => {
    const long = { ...Object(body), extra: Array(3000).fill("0123456789") };
    for (const answer of [body, long]) {
      const reading = read(meter, [Buffer.from(JSON.stringify(answer))], {
        streamed: false,
        statusCode: 200,
      });
      expect(reading).toEqual({
        usage: quantities === null ? null : { shape: "inclusive" as const, quantities },
        errorKind: null,
        complete: true,
      });
    }
  });

  test.each(["transcription", "speech", "images", "rerank"] as const)(
    "of %s that are an error have its kind, and what is no JSON tells nothing",
    (meter) => {
      const error = Buffer.from('{"error":{"type":"invalid_request_error","message":"x"}}');
      for (const statusCode of [200, 400])
        expect(read(meter, [error], { streamed: false, statusCode })).toMatchObject({
          usage: null,
          errorKind: "invalid_request_error",
        });
      for (const text of ["", "WEBVTT\n\n00:01 --> 00:02\nduration", "{", "\0\xff"])
        expect(read(meter, [Buffer.from(text)], { streamed: false, statusCode: 200 })).toEqual({
          usage: null,
          errorKind: null,
          complete: false,
        });
    },
  );

  test("of images that are more than can be kept tell nothing, rather than too few", () => {
    const many = Buffer.from(
      JSON.stringify({ data: Array.from({ length: 100_000 }, () => ({ url: "x".repeat(20) })) }),
    );
    expect(read("images", [many], { streamed: false, statusCode: 200 }).usage).toBeNull();
  });
});

function read(
  name: Name,
  parts: readonly Uint8Array[],
  options: MeterOptions = { streamed: true, statusCode: 200 },
): ReturnType<Meter["finish"]> {
  const meter = createMeter(DIALECTS[name], options);
  for (const part of parts) meter.push(part);
  return meter.finish();
}
