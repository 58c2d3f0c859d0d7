import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { GroupName } from "../../contrib/clients/groups.ts";
import {
  ALIAS,
  CLIENT_MS_MAX,
  EMBEDDER,
  GREETING,
  RECORDED,
  RELAY_MODEL,
  SETUP_MS_MAX,
  WEATHER,
  isReady,
  runCases,
  startSite,
  type SeenRequest,
  type Site,
} from "./support.ts";

interface Subject {
  readonly id: string;
  readonly group: GroupName;
  readonly file: string;
  /** How the client names itself. */
  readonly userAgent: RegExp;
  /** What an answer of 404 and of 429 becomes in it. */
  readonly errors: { readonly notFound: string; readonly tooMany: string };
}

const ERRORS = { notFound: "NotFoundError", tooMany: "RateLimitError" };
const OPENAI_CLIENTS: readonly Subject[] = [
  {
    id: "openai-python",
    group: "python",
    file: "openai_cases.py",
    userAgent: /^OpenAI\/Python \d/,
    errors: ERRORS,
  },
  {
    id: "openai-node",
    group: "javascript",
    file: "openai.mjs",
    userAgent: /^OpenAI\/JS \d/,
    errors: ERRORS,
  },
  {
    id: "ai-sdk",
    group: "javascript",
    file: "ai-sdk.mjs",
    userAgent: /^ai(-sdk-openai)?\/\d/,
    errors: { notFound: "APICallError", tooMany: "APICallError" },
  },
  {
    id: "langchain-python",
    group: "python",
    file: "langchain_cases.py",
    userAgent: /^OpenAI\/Python \d/,
    errors: ERRORS,
  },
  {
    id: "langchain-js",
    group: "javascript",
    file: "langchain.mjs",
    userAgent: /^langchainjs-openai\/\d/,
    errors: ERRORS,
  },
];
const RELAY_CLIENTS: readonly Subject[] = [
  {
    id: "anthropic-python",
    group: "python",
    file: "anthropic_cases.py",
    userAgent: /^Anthropic\/Python \d/,
    errors: ERRORS,
  },
  {
    id: "anthropic-node",
    group: "javascript",
    file: "anthropic.mjs",
    userAgent: /^Anthropic\/JS \d/,
    errors: ERRORS,
  },
];

let site: Site;
beforeAll(async () => {
  site = await startSite();
}, SETUP_MS_MAX);
afterAll(() => site?.stop());

type Answers = Record<string, Record<string, unknown>>;

/** The events of one case of a client, each checked for what they have in common. */
async function eventsOf({ id, userAgent }: Subject, name: string): Promise<readonly SeenRequest[]> {
  const events = await site.log(`case:${id}-${name}`);
  for (const { client } of events) expect(client).toMatch(userAgent);
  return events;
}

const ok = { outcome: "ok", status_code: 200, error_kind: null };
const unary = { ...ok, streamed: false };
const streamed = { ...ok, streamed: true };

for (const subject of OPENAI_CLIENTS) {
  describe.skipIf(!isReady(subject.group))(`${subject.id} through the executable`, () => {
    let answers: Answers;
    beforeAll(async () => {
      answers = await runCases(site, subject.group, subject.file);
    }, CLIENT_MS_MAX);

    test("gets an answer and its tokens, and leaves one event with them and their cost", async () => {
      expect(answers["unary"]).toEqual({ text: GREETING, tokens: [11, 7] });
      const event = { ...unary, ...RECORDED.text, model: ALIAS, provider: "mock", endpoint: "chat" };
      expect(await eventsOf(subject, "unary")).toMatchObject([event]);
    });

    test("gets a stream piece by piece with its tokens at the end, and leaves one event", async () => {
      expect(answers["stream"]).toMatchObject({ text: GREETING, tokens: [11, 7] });
      expect(Number(answers["stream"]?.["pieces"])).toBeGreaterThan(1);
      expect(await eventsOf(subject, "stream")).toMatchObject([{ ...streamed, ...RECORDED.text }]);
    });

    test("calls a tool, sends its result and gets the answer: two events", async () => {
      expect(answers["tools"]).toEqual({ name: "weather", arguments: WEATHER, text: "It is warm." });
      expect(await eventsOf(subject, "tools")).toMatchObject([
        { ...unary, ...RECORDED.call },
        { ...unary, ...RECORDED.done },
      ]);
    });

    test("puts a streamed tool call together", async () => {
      expect(answers["tools-stream"]).toMatchObject({ name: "weather", arguments: WEATHER });
      expect((await eventsOf(subject, "tools-stream"))[0]).toMatchObject({ ...streamed, ...RECORDED.call });
    });

    test("gets embeddings for the words that it sent, in one event", async () => {
      expect(answers["embeddings"]).toEqual({ count: 2, dimensions: 64 });
      // Five words: had it sent token numbers in their place, there would be none.
      expect(await eventsOf(subject, "embeddings")).toMatchObject([
        { ...unary, model: EMBEDDER, endpoint: "embeddings", units: { input_tokens: 5 }, cost: 1e-5 },
      ]);
    });

    test("tells an unknown model by its own error in our words, and it leaves no event", async () => {
      expect(answers["unknown-model"]).toMatchObject({ name: subject.errors.notFound, status: 404 });
      expect(answers["unknown-model"]?.["message"]).toContain("is not served here.");
      expect(await eventsOf(subject, "unknown-model")).toEqual([]);
    });

    test("tells an upstream's refusal by its own error in the upstream's words", async () => {
      expect(answers["upstream-error"]).toMatchObject({ name: subject.errors.tooMany, status: 429 });
      expect(answers["upstream-error"]?.["message"]).toContain("Slow down.");
      expect(await eventsOf(subject, "upstream-error")).toMatchObject([
        {
          outcome: "upstream_error",
          status_code: 429,
          error_kind: "rate_limit_error",
          units: {},
          cost: null,
        },
      ]);
    });

    // LangChain stays on chat completions, as its snippet tells it to.
    if (!subject.id.startsWith("langchain-")) {
      test("is told what to do when it calls the Responses API", () => {
        expect(answers["responses"]).toMatchObject({ name: subject.errors.notFound, status: 404 });
        expect(answers["responses"]?.["message"]).toContain("use chat completions");
      });
    }

    if (subject.id.startsWith("openai-")) {
      test("lists the models, and no upstream name", () => {
        expect(answers["models"]).toEqual({ ids: [EMBEDDER, ALIAS] });
      });

      test("reads an unknown key as its AuthenticationError", () => {
        expect(answers["no-key"]).toMatchObject({ name: "AuthenticationError", status: 401 });
        expect(answers["no-key"]?.["message"]).toContain("This API key is not valid.");
      });
    }
  });
}

for (const subject of RELAY_CLIENTS) {
  describe.skipIf(!isReady(subject.group))(`${subject.id} through the relay`, () => {
    let answers: Answers;
    beforeAll(async () => {
      answers = await runCases(site, subject.group, subject.file);
    }, CLIENT_MS_MAX);

    test("gets a message and its tokens, and leaves one event with them and their cost", async () => {
      expect(answers["unary"]).toEqual({ text: GREETING, tokens: [11, 7] });
      expect(await eventsOf(subject, "unary")).toMatchObject([
        {
          ...unary,
          ...RECORDED.relayText,
          model: RELAY_MODEL,
          provider: "transparent:messages",
          endpoint: "/v1/messages",
        },
      ]);
    });

    test("gets a stream piece by piece, and leaves one event", async () => {
      expect(answers["stream"]).toMatchObject({ text: GREETING, tokens: [11, 7] });
      expect(Number(answers["stream"]?.["pieces"])).toBeGreaterThan(1);
      expect(await eventsOf(subject, "stream")).toMatchObject([{ ...streamed, ...RECORDED.relayText }]);
    });

    test("calls a tool, sends its result and gets the answer: two events", async () => {
      expect(answers["tools"]).toEqual({ name: "weather", arguments: WEATHER, text: "It is warm." });
      expect(await eventsOf(subject, "tools")).toMatchObject([
        { ...unary, ...RECORDED.relayCall },
        { ...unary, ...RECORDED.relayDone },
      ]);
    });

    test("puts a streamed tool call together", async () => {
      expect(answers["tools-stream"]).toMatchObject({ name: "weather", arguments: WEATHER });
      expect(await eventsOf(subject, "tools-stream")).toMatchObject([{ ...streamed, ...RECORDED.relayCall }]);
    });

    test("tells an upstream's refusal by its own error in the upstream's words", async () => {
      expect(answers["upstream-error"]).toMatchObject({ name: subject.errors.tooMany, status: 429 });
      expect(answers["upstream-error"]?.["message"]).toContain("Slow down.");
      expect(await eventsOf(subject, "upstream-error")).toMatchObject([
        { outcome: "upstream_error", status_code: 429, error_kind: "rate_limit_error", cost: null },
      ]);
    });

    test("tells an unknown relay token by its own error in our words, and it leaves no event", async () => {
      expect(answers["unknown-token"]).toMatchObject({ name: subject.errors.notFound, status: 404 });
      expect(answers["unknown-token"]?.["message"]).toContain("This relay token is not known.");
      expect(await eventsOf(subject, "unknown-token")).toEqual([]);
    });
  });
}
