import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import {
  CLIENT_MS_MAX,
  GREETING,
  PLAIN_GREETING,
  SETUP_MS_MAX,
  WEATHER,
  isReady,
  type Site,
} from "./support.ts";
import { MEDIA_EVENTS, runQuickstart, startVendorSite, toEvents, toSeen, type Way } from "./quickstarts.ts";
import { CLIENT_TABLE, type Medium } from "./table.ts";
import { HEARD, PIXEL, SPOKEN, WARM } from "./vendors.ts";

let site: Site;
beforeAll(async () => {
  site = await startVendorSite();
}, SETUP_MS_MAX);
afterAll(() => site?.stop());

/** The answer that the client gives its program for each call. */
const MEDIA_ANSWERS: { readonly [medium in Medium]: unknown } = {
  transcription: HEARD,
  translation: HEARD,
  speech: SPOKEN,
  images: PIXEL,
  "images/edits": PIXEL,
  moderation: false,
  embeddings: [
    [0.25, 0.5],
    [0.25, 0.5],
  ],
  "rerank v1": [0, 1],
  "rerank v2": [0, 1],
};

/** The SDKs that the relay is for. */
const RELAYED_PROGRAMS: ReadonlySet<string> = new Set(["anthropic_messages.py", "anthropic.mjs"]);

for (const client of CLIENT_TABLE) {
  const { name, group, apis, program, media } = client;
  const greeting = client.isWithoutLineSeparator === true ? PLAIN_GREETING : GREETING;
  describe.skipIf(!isReady(group))(`${name}, with a base URL and a key alone`, () => {
    if (typeof program === "string") {
      const ways: readonly Way[] = RELAYED_PROGRAMS.has(program) ? [...apis, "relay"] : apis;
      test.each([...ways])(
        "gets its answers from %s, streamed and with a tool, and leaves one priced event for each request",
        async (way) => {
          const before = await site.logLength();
          const answers = await runQuickstart(site, client, { file: program, way });
          expect(answers).toEqual({
            unary: greeting,
            stream: greeting,
            tools: WARM,
            "tools-stream": WARM,
            calls: [WEATHER, WEATHER],
          });
          const expected = toEvents(way, client);
          const events = (await site.logAfter(before)).map(toSeen);
          expect(events).toMatchObject([...expected]);
          expect(events.map(({ billed }) => billed)).toEqual(expected.map(({ billed }) => billed));
        },
        CLIENT_MS_MAX,
      );
    }
    if (media !== undefined) {
      test(
        "makes each of its other calls, and each leaves one priced event",
        async () => {
          const before = await site.logLength();
          const answers = await runQuickstart(site, client, { file: media.program });
          expect(answers).toEqual(
            Object.fromEntries(media.endpoints.map((medium) => [medium, MEDIA_ANSWERS[medium]])),
          );
          const ok = { outcome: "ok", status_code: 200, error_kind: null, streamed: false };
          const expected = media.endpoints.map((medium) => MEDIA_EVENTS[medium]);
          const events = (await site.logAfter(before)).map(toSeen);
          expect(events).toMatchObject(expected.map((event) => Object.assign({}, ok, event)));
          expect(events.map(({ billed }) => billed)).toEqual(expected.map(({ billed }) => billed));
        },
        CLIENT_MS_MAX,
      );
    }
  });
}
