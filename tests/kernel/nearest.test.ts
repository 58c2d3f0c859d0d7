import { expect, test } from "bun:test";
import * as fc from "fast-check";
import { ProxyError } from "#kernel/errors.ts";
import { findNearest, withHint } from "#kernel/nearest.ts";

const SETTINGS = ["PROXY_LOG", "PROXY_PORT", "PROXY_HOST", "PROXY_DATA_DIR"];

test("a typo is answered with what it most likely meant, neighbours that changed places included", () => {
  for (const [text, candidates, meant] of [
    ["PROXY_LOGG", SETTINGS, "PROXY_LOG"],
    ["PROXY_PROT", SETTINGS, "PROXY_PORT"],
    ["PROXY_DATADIR", SETTINGS, "PROXY_DATA_DIR"],
    ["crul", ["curl", "aider"], "curl"],
    ["modle", ["model"], "model"],
  ] as const)
    expect({ text, nearest: findNearest(text, candidates) }).toEqual({ text, nearest: meant });
});

test("what shares no more than the beginning that all candidates have is near to none of them", () => {
  expect(findNearest("PROXY_FOO", SETTINGS)).toBeNull();
  expect(findNearest("foo", ["chat", "bot"])).toBeNull();
  expect(findNearest("tcsh", ["bash", "zsh", "fish"])).toBeNull();
  expect(findNearest("", SETTINGS)).toBeNull();
  expect(findNearest("x", [])).toBeNull();
});

test("a candidate is near exactly when the whole table of distances says so, however many slips there are", () => {
  const word = fc.array(fc.constantFrom("a", "b", "-"), { maxLength: 14 }).map((all) => all.join(""));
  fc.assert(
    fc.property(word, word, (typed, meant) => {
      const distance = toWholeDistance(typed, meant);
      const length = Math.max(typed.length, meant.length);
      const isNear = distance <= 3 && (length - distance) / length > (distance > 1 ? 0.5 : 0.4);
      expect({ typed, nearest: findNearest(typed, [meant]) }).toEqual({
        typed,
        nearest: isNear ? meant : null,
      });
    }),
  );
});

test("of several near ones the nearest is meant, of equally near ones the first", () => {
  expect(findNearest("gpt-4p", ["gpt-41x", "llama", "gpt-4o", "gpt-4i"])).toBe("gpt-4o");
  expect(findNearest("gpt4o", ["gpt-4o", "gpt-4i", "llama"])).toBe("gpt-4o");
});

test("a search compares so many names of about one length and no more, and passes over all others for nothing", () => {
  const others = Array.from({ length: 1_000 }, (_, index) => `zzzz${index.toString().padStart(4, "0")}`);
  expect(findNearest("gpt-4.1x", [...others.slice(1), "gpt-4.1"])).toBe("gpt-4.1");
  expect(findNearest("gpt-4.1x", [...others, "gpt-4.1"])).toBeNull();
  expect(findNearest("gp-5", [...others, "gpt-5"])).toBe("gpt-5");
});

/** Optimal string alignment by the whole table. */
function toWholeDistance(left: string, right: string): number {
  const table = Array.from({ length: left.length + 1 }, (_, i) =>
    Array.from({ length: right.length + 1 }, (__, j) => (i === 0 ? j : j === 0 ? i : 0)),
  );
  const at = (i: number, j: number) => table[i]?.[j] ?? Infinity;
  for (let i = 1; i <= left.length; i += 1)
    for (let j = 1; j <= right.length; j += 1) {
      const replaced = at(i - 1, j - 1) + (left[i - 1] === right[j - 1] ? 0 : 1);
      const isSwapped = left[i - 1] === right[j - 2] && left[i - 2] === right[j - 1];
      const swapped = isSwapped ? at(i - 2, j - 2) + 1 : Infinity;
      (table[i] ?? [])[j] = Math.min(replaced, swapped, at(i - 1, j) + 1, at(i, j - 1) + 1);
    }
  return at(left.length, right.length);
}

test("a hint goes to the end of a refusal with its code, which keeps all else, and one that fails leaves it as it is", async () => {
  const headers = { "x-tried": "one" };
  const refused = new ProxyError("model_not_found", "No such model.", { param: "model", headers, cause: 7 });
  const failureOf = (readHint: () => Promise<string>, code: "model_not_found" | "key_not_found") =>
    withHint(Promise.reject(refused), code, readHint).catch((failure: unknown) => failure);
  const hinted = await failureOf(async () => " Did you mean `gpt`?", "model_not_found");
  expect(hinted).toMatchObject({
    code: "model_not_found",
    message: "No such model. Did you mean `gpt`?",
    param: "model",
    headers,
    cause: 7,
  });
  const fail = () => Promise.reject(new Error("the database is away"));
  expect(await failureOf(fail, "model_not_found")).toBe(refused);
  expect(await failureOf(fail, "key_not_found")).toBe(refused);
});
