import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { startSite, MODEL, type Site } from "../faults/site.ts";
import { executable } from "../support/executable.ts";
import { callApi } from "../support/installation.ts";
import { startUpstream, type ScriptedUpstream } from "../support/upstream.ts";
import { checkRefusal, readAnswer, type Answer } from "./answers.ts";
import { checkInvariants, type Scenario } from "./invariants.ts";
import { isIn } from "./planted.ts";

const TEST_MS_MAX = 120_000;
const COMPLETION = '{"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":3}}';
const CHAT = "/v1/chat/completions";

const REQUEST_ID = "019cdd2a-7c00-7000-8000-000000000008";
const REFUSAL: Answer = {
  status: 404,
  headers: new Map([
    ["content-type", "application/json"],
    ["x-content-type-options", "nosniff"],
    ["x-proxy-error-source", "proxy"],
    ["x-proxy-request-id", REQUEST_ID],
  ]),
  body: `{"error":{"message":"No.","type":"proxy_error","code":"model_not_found","param":"model"},"proxy":{"source":"proxy","request_id":"${REQUEST_ID}"}}`,
};
const withBody = (from: string, to: string): Answer => ({
  ...REFUSAL,
  body: REFUSAL.body.replace(from, to),
});

describe("a refusal", () => {
  test("with all five fields, the request's id and our source is what it should be, and so is whatever an upstream says", () => {
    expect(() => checkRefusal(REFUSAL)).not.toThrow();
    const headers = new Map([["x-proxy-provider", "up"]]);
    expect(() => checkRefusal({ status: 500, headers, body: "<html>" })).not.toThrow();
  });

  test.each([
    ["lacks a field", withBody(',"param":"model"', "")],
    ["does not name its request", withBody(`,"request_id":"${REQUEST_ID}"`, "")],
    ["names another request", withBody(REQUEST_ID, REQUEST_ID.replace("8000", "8001"))],
    ["has a field more", withBody('"param"', '"stack":"x","param"')],
    ["is no JSON", { ...REFUSAL, body: "<html>Not found</html>" }],
    ["tells where the code stands", withBody("No.", "no at run (/app/src/main.ts:7:3)")],
    ["does not say that it is ours", { ...REFUSAL, headers: new Map() }],
    ["has a code that is a sentence", withBody("model_not_found", "Model not found")],
  ])("that %s is found", (_, answer) => {
    expect(() => checkRefusal(answer)).toThrow();
  });
});

test("a planted word is found as it is, in base64, in hexadecimal and in UTF-16, and nothing else is", () => {
  const word = "zq0123456789abcdefqz";
  for (const form of [word, btoa(word), Buffer.from(word).toString("hex")])
    expect(isIn(Buffer.from(`before ${form} after`), word)).toBe(true);
  expect(isIn(Buffer.from(word, "utf16le"), word)).toBe(true);
  expect(isIn(Buffer.from("zq0123456789abcdef"), word)).toBe(false);
});

describe("after a scenario on the executable", () => {
  let upstream: ScriptedUpstream;
  let site: Site;
  beforeEach(async () => {
    upstream = await startUpstream({ script: (call) => call.reply({ body: COMPLETION }) });
    site = await startSite({ lockport: await executable(), baseUrl: upstream.baseUrl });
  }, TEST_MS_MAX);
  afterEach(async () => {
    await site.installation.remove();
    await upstream.stop();
  });
  const ask = () => callApi(site.server.url, site.asked.key, "POST", CHAT, { model: MODEL });
  const scenario = (more: Partial<Scenario> = {}): Scenario => ({
    ...site,
    ask,
    received: upstream.requests,
    ...more,
  });

  test(
    "nothing is found where nothing is wrong, and there is an event for each request",
    async () => {
      const answers = [await readAnswer(await ask())];
      const { events, peakMib } = await checkInvariants(scenario({ answers, attempts: { eventCount: 2 } }));
      expect(events).toHaveLength(2);
      expect(peakMib).toBeGreaterThan(10);
    },
    TEST_MS_MAX,
  );

  const faults: readonly [string, string, () => Promise<Partial<Scenario>>][] = [
    [
      "a credential that lies in a file",
      "the provider's credential in notes",
      async () => {
        const secret = site.planted.values.get("the provider's credential") ?? "";
        writeFileSync(join(site.installation.dataDir, "notes"), secret);
        return {};
      },
    ],
    [
      "a caller's key that went upstream",
      "the admin's key in a request to an upstream",
      async () => {
        const { key } = site.asked;
        await callApi(site.server.url, key, "POST", CHAT, { model: MODEL, user: key });
        return {};
      },
    ],
    [
      "a server that is gone",
      "the server has ended",
      async () => {
        site.server.signal("SIGKILL");
        await site.server.exited;
        return {};
      },
    ],
  ];
  test.each(faults)(
    "%s is found",
    async (_, told, make) => {
      const scenarioWithFault = scenario(await make());
      const said = await checkInvariants(scenarioWithFault).then(() => "nothing", String);
      expect(said).toContain(told);
    },
    TEST_MS_MAX,
  );
});
