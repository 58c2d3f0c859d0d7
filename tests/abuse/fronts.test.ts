import { afterEach, beforeEach, expect, test } from "bun:test";
import { makeFolder } from "../support/folder.ts";
import { forEach, SETUP_MS_MAX, startAbuseSite, type AbuseSite } from "./abuse-site.ts";
import { FRONTS } from "./fronts.ts";
import { withoutEnd } from "./judge.ts";
import { FRAMING } from "./malformed-framing.ts";
import { HEADS } from "./malformed-heads.ts";
import { readRequests, readResponses } from "./reader.ts";
import { talk } from "./talk.ts";
import { startTap, type Passage } from "./tap.ts";

/**
 * Malformed requests behind the reverse proxies that people use: how many requests there were is one number to all that
 * read them (the front, a strict reader, Lockport), and nobody gets the answer to another's.
 */

const TEST_MS_MAX = 120_000;
const WIDTH = 16;
const MALFORMED = [...FRAMING, ...HEADS];
/** A front's own answers, when the connection to the server has ended. */
const OF_FRONT = new Set([502, 503, 504]);

let site: AbuseSite;
let folder: ReturnType<typeof makeFolder>;
beforeEach(async () => {
  site = await startAbuseSite();
  folder = makeFolder();
}, SETUP_MS_MAX);
afterEach(async () => {
  await site.stop();
  folder.remove();
});

interface Count {
  readonly complete: number;
  readonly isCut: boolean;
  /** Its mistake; null: none. */
  readonly wrong: string | null;
}

/** The number of requests that went by to the server, and whether it took them for as many. */
function count({ toServer, fromServer }: Passage): Count {
  const { requests, rest, readBytes, methods } = readRequests(toServer);
  const responses = readResponses(fromServer, methods);
  const ours = withoutEnd(responses);
  const last = JSON.stringify(toServer.slice(readBytes === toServer.length ? -300 : readBytes).slice(0, 300));
  const counted = { complete: requests.length, isCut: rest !== "nothing" };
  if (ours.length > requests.length + (rest === "incomplete" ? 1 : 0))
    return { ...counted, wrong: `${ours.length} answers: ${last}` };
  // The runtime refuses trailers by an answer of its own, which must not follow another one.
  const isTwice = rest === "nothing" && responses.length > requests.length;
  return { ...counted, wrong: isTwice ? `answered twice: ${last}` : null };
}

for (const kind of FRONTS) {
  const { name } = kind;
  const path = Bun.which(name, { PATH: `${process.env["PATH"]}:/usr/sbin` });
  if (path === null) console.log(`skipped: there is no ${name}`);
  test.skipIf(path === null)(
    `behind ${name} as many requests are answered as were passed on, and nobody gets another's answer`,
    async () => {
      const tap = await startTap(site.port);
      const front = await kind.start(path ?? "", folder.path, tap.port);
      const wrong: string[] = [];
      await forEach(MALFORMED.length, WIDTH, async (index) => {
        const malformed = MALFORMED[index]!;
        await talk(front.port, malformed.bytes);
        const honest = await fetch(`http://127.0.0.1:${front.port}/healthz`);
        const text = await honest.text();
        const isOwn = honest.status === 200 ? text.startsWith('{"status":') : OF_FRONT.has(honest.status);
        if (!isOwn) wrong.push(`after ${malformed.name}: ${honest.status} ${text.slice(0, 200)}`);
      });
      const passedOn = await front.stop();
      await tap.stop();
      const counts = tap.passages.map(count);
      const complete = counts.reduce((sum, each) => sum + each.complete, 0);
      const cut = counts.filter(({ isCut }) => isCut).length;
      console.log(
        `${name}: ${MALFORMED.length} sent, ${passedOn} passed on, ${complete} read, ${cut} cut off`,
      );
      expect([...wrong, ...counts.flatMap((each) => each.wrong ?? [])]).toEqual([]);
      expect(Math.abs(passedOn - complete)).toBeLessThanOrEqual(cut);
      await site.check({ eventCount: 1 });
    },
    TEST_MS_MAX,
  );
}
