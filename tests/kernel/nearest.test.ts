import { expect, test } from "bun:test";
import { findNearest } from "#kernel/nearest.ts";

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
