import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { toErrorKind } from "#usage/meter.ts";

describe("error kinds", () => {
  const table: readonly [string, number, unknown, string][] = [
    ["error.type", 400, { error: { type: "invalid_request_error", code: "x" } }, "invalid_request_error"],
    [
      "error.code where the type is tokens",
      429,
      { error: { type: "tokens", code: "rate_limit_exceeded" } },
      "rate_limit_exceeded",
    ],
    [
      "error.code where the type is requests",
      429,
      { error: { type: "requests", code: "rate_limit_exceeded" } },
      "rate_limit_exceeded",
    ],
    [
      "the status where the type is tokens and there is no code",
      429,
      { error: { type: "tokens" } },
      "http_429",
    ],
    [
      "error.code where there is no type",
      404,
      { error: { type: null, code: "model_not_found" } },
      "model_not_found",
    ],
    [
      "error.status where the code is a number",
      400,
      { error: { code: 400, status: "INVALID_ARGUMENT" } },
      "invalid_argument",
    ],
    [
      "the one error of an array",
      400,
      [{ error: { code: 400, status: "INVALID_ARGUMENT" } }],
      "invalid_argument",
    ],
    [
      "top-level type",
      404,
      { object: "error", message: "m", type: "NotFoundError", code: 404 },
      "notfounderror",
    ],
    ["top-level code", 403, { code: "AccessDenied", message: "m" }, "accessdenied"],
    [
      "the messages dialect",
      529,
      { type: "error", error: { type: "overloaded_error", message: "m" } },
      "overloaded_error",
    ],
    ["an envelope's type is no kind", 500, { type: "error", message: "m" }, "http_500"],
    ["an error that is one word", 401, { error: "unauthorized" }, "unauthorized"],
    [
      "an error that is a sentence",
      404,
      { error: "model 'llama' not found, try pulling it first" },
      "http_404",
    ],
    ["an error in words without spaces", 400, { error: "请求无效" }, "http_400"],
    ["message and detail alone", 422, { message: "m", detail: [{ type: "missing", msg: "m" }] }, "http_422"],
    ["a message inside the error", 400, { error: { message: "no" } }, "http_400"],
    ["a number inside an answer of another status", 200, { error: { code: 502, message: "m" } }, "http_502"],
    ["a number that is a vendor's own code", 400, { code: 20012, message: "m", data: null }, "20012"],
    ["a number that is neither", 500, { error: { code: 7 } }, "http_500"],
    [
      "a number of the vendor's own, above every status",
      400,
      { error: { code: 1301, message: "m" } },
      "1301",
    ],
    [
      "other characters become underscores",
      400,
      { error: { type: " Rate-Limit Éxceeded! " } },
      "rate_limit__xceeded_",
    ],
    ["64 characters at most", 400, { error: { type: "a".repeat(100) } }, "a".repeat(64)],
    [
      "a text for a person is passed over",
      400,
      { error: { type: "word ".repeat(100), code: "short" } },
      "short",
    ],
    ["nothing but punctuation is passed over", 400, { error: { type: "...", code: "" } }, "http_400"],
    ["no body", 503, undefined, "http_503"],
    ["null", 503, null, "http_503"],
    ["a text", 503, "Service Unavailable", "http_503"],
    ["an empty array", 503, [], "http_503"],
  ];
  test.each(table)("%s", (_, status, body, kind) => {
    expect(toErrorKind(status, body)).toBe(kind);
  });

  test("what an upstream tells a person never gets into a kind", () => {
    const secret = "zqx7";
    const prose = fc.string({ unit: "grapheme" }).map((text) => `${text} ${secret} ${text}`);
    const error = fc.oneof(
      prose,
      fc.record({ message: prose, detail: prose, param: prose, code: fc.option(fc.nat()) }),
    );
    const body = fc.record({ message: prose, detail: prose, error });
    fc.assert(
      fc.property(body, fc.integer({ min: 400, max: 599 }), (value, status) => {
        const kind = toErrorKind(status, value);
        expect(kind).not.toContain(secret);
        expect(kind).toMatch(/^[a-z0-9_]{1,64}$/);
      }),
      { numRuns: 200 },
    );
  });
});
