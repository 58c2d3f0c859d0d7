import { describe, expect, test } from "bun:test";
import { parseCatalog } from "#interchange/catalog-parse.ts";

const HEAD = `lockport_catalog: 1
providers:
  up:
    base_url: http://10.0.0.1/v1
models:
  a:
    provider: up
    upstream_name: u
`;

function problemsOf(text: string): readonly string[] {
  const parsed = parseCatalog(text);
  return parsed.kind === "refused" ? parsed.problems.map(({ line, sentence }) => `${line}: ${sentence}`) : [];
}

describe("a catalog file", () => {
  test("that a person wrote is read with what it says and nothing else", () => {
    expect(parseCatalog(`${HEAD}    hidden:\n`)).toEqual({
      kind: "read",
      file: {
        lockport_catalog: 1,
        providers: { up: { base_url: "http://10.0.0.1/v1" } },
        models: { a: { provider: "up", upstream_name: "u" } },
        feeds: [],
      },
    });
  });

  const wrong: readonly (readonly [what: string, text: string, problem: string])[] = [
    [
      "an unknown field, with what was meant",
      `${HEAD}    hiden: true\n`,
      "9: A model has no field of this name. Did you mean hidden?",
    ],
    ["a field of the wrong type", `${HEAD}    hidden: maybe\n`, "9: hidden must be true or false."],
    ["a capability that does not exist", `${HEAD}    capabilities: [chat, fly]\n`, "9: The capabilities are"],
    [
      "a unit that does not exist",
      `${HEAD}    prices: {input_token: 1}\n`,
      "9: prices has no field of this name. Did you mean input_tokens?",
    ],
    [
      "a price below zero",
      `${HEAD}    prices:\n      input_tokens: -1\n`,
      "10: A price must be a number from 0",
    ],
    [
      "a price that is too fine",
      `${HEAD}    prices:\n      input_tokens: 0.0000001\n`,
      "10: A price is exact to six decimals",
    ],
    [
      "a provider that it does not have",
      HEAD.replace("provider: up", "provider: ub"),
      "7: The file has no provider of this name. Did you mean up?",
    ],
    [
      "a target that it does not have",
      `${HEAD}  b:\n    target: c\n`,
      "10: The file has no model of this name.",
    ],
    [
      "a target that is a name itself",
      `${HEAD}  b: {target: a}\n  c:\n    target: b\n`,
      "11: The target is itself a name.",
    ],
    ["a target beside a provider", `${HEAD}    target: a\n`, "9: A model is either a name for a target"],
    [
      "a base URL that is none",
      HEAD.replace("http://10.0.0.1/v1", "10.0.0.1/v1"),
      "4: base_url is a full http or https URL",
    ],
    [
      "a name that is none",
      HEAD.replace("up:", "Up:").replace("provider: up", "provider: Up"),
      "A provider's name is",
    ],
    ["a key that stands twice", `${HEAD}    hidden: true\n    hidden: true\n`, "10: This key stands twice"],
    [
      "a variable of Lockport's own for a provider's key",
      HEAD.replace("  up:\n", "  up:\n    api_key_env: PROXY_API_KEY\n"),
      "4: api_key_env must be the name of an environment variable",
    ],
    [
      "two places for one key",
      HEAD.replace("  up:\n", "  up:\n    api_key_env: A\n    api_key_file: b\n"),
      "5: A provider has api_key_env or api_key_file",
    ],
    [
      "a key in the file itself",
      HEAD.replace("  up:\n", "  up:\n    api_key: sk-secret\n"),
      "4: A provider has no field of this name.",
    ],
    [
      "a price that two feeds set",
      `${HEAD}feeds:\n  - version: "1"\n    prices: {u: {input_tokens: 1}}\n  - version: "2"\n    prices: {u: {input_tokens: 1}}\n`,
      "13: Another feed of this file",
    ],
    ["a feed without a version", `${HEAD}feeds:\n  - prices: {}\n`, "10: A feed has a version"],
    [
      "prices to come without a moment",
      `${HEAD}prices_to_come:\n  - model: a\n    prices: {input_tokens: 1}\n`,
      "10: An entry of prices_to_come has an effective_from and a model.",
    ],
    [
      "prices to come at a moment that is none",
      `${HEAD}prices_to_come:\n  - effective_from: soon\n    model: a\n    prices: {input_tokens: 1}\n`,
      "10: effective_from is a date in UTC",
    ],
    [
      "prices to come of a model that it does not have",
      `${HEAD}prices_to_come:\n  - effective_from: 2999-01-01\n    model: ab\n    prices: {input_tokens: 1}\n`,
      "11: The file has no model of this name.",
    ],
    [
      "prices to come that are none",
      `${HEAD}prices_to_come:\n  - effective_from: 2999-01-01\n    model: u\n    feed: v\n    prices: {}\n`,
      "10: An entry has prices, price_variants, or both.",
    ],
    [
      "a price to come that is below zero",
      `${HEAD}prices_to_come:\n  - effective_from: 2999-01-01\n    model: a\n    prices:\n      input_tokens: -1\n`,
      "13: A price must be a number from 0",
    ],
    [
      "prices to come that are no list of maps",
      `${HEAD}prices_to_come: [1]\n`,
      "9: Prices to come must be a map",
    ],
    ["a list in place of a map", HEAD.replace("models:", "models: []\nx:"), "5: models must be a map."],
    [
      "another format number",
      HEAD.replace("catalog: 1", "catalog: 2"),
      "1: Only lockport_catalog: 1 can be read",
    ],
    [
      "a LiteLLM config",
      "model_list: []\n",
      "1: This is no catalog of Lockport's, which begins with lockport_catalog: 1. It looks like a LiteLLM config",
    ],
    ["JSON of another shape", '{"version":"1","entries":[]}', "1: This is no catalog"],
    ["nothing", "", "1: This is no catalog"],
    ["half a file", HEAD.slice(0, -4).replace("upstream_n", "'upstream_n"), "The file is not YAML here"],
    ["bytes that are no text", "\u0000\u0001\u0002", "1: "],
    ["an anchor that refers to itself", "a: &x\n  b: *x\n", "An anchor refers to itself"],
    ["an anchor that is not there", "lockport_catalog: *x\n", "1: No anchor of this name stands before."],
    ["brackets without end", "[".repeat(20_000), "1: The file is"],
  ];
  for (const [what, text, problem] of wrong) {
    test(`with ${what} is refused with its line and what to do`, () => {
      expect(problemsOf(text).join("\n")).toContain(problem);
      expect(problemsOf(text).join("\n")).not.toContain("sk-secret");
    });
  }

  test("with several mistakes is refused with all of them at once, in the order of the file", () => {
    const text = `${HEAD}    hiden: true\n    prices: {input_tokens: x}\n  "-b": {target: a}\n`;
    expect(problemsOf(text).map((problem) => problem.split(":")[0])).toEqual(["9", "10", "11"]);
  });

  test("of anchors of anchors is read in no time", () => {
    const levels = Array.from({ length: 40 }, (_, level) => {
      const lower = level === 0 ? "1" : `[${`*l${level - 1}, `.repeat(9)}*l${level - 1}]`;
      return `l${level}: &l${level} ${lower}\n`;
    });
    expect(problemsOf(levels.join(""))).toHaveLength(1);
    const references = Array.from(
      { length: 2_000 },
      (_, index) => `k${index}: &a${index} 1\nr${index}: *a${index}\n`,
    );
    const started = process.cpuUsage();
    expect(problemsOf(references.join(""))).toHaveLength(1);
    // A tenth of a second; looking through the whole file for each reference took a minute and a half.
    expect(process.cpuUsage(started).user / 1e6).toBeLessThan(6);
  });

  test("with a price list of 20,000 names is read in seconds", () => {
    const names = Array.from({ length: 20_000 }, (_, index) => `      m-${index}: {input_tokens: 1.25}\n`);
    const started = process.cpuUsage();
    const parsed = parseCatalog(`${HEAD}feeds:\n  - version: "1"\n    prices:\n${names.join("")}`);
    expect(parsed.kind).toBe("read");
    // It takes half a second; comparing each key with every other took a quarter of a minute.
    expect(process.cpuUsage(started).user / 1e6).toBeLessThan(6);
  }, 60_000);
});
