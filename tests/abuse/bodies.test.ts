import { afterEach, beforeEach, expect, test } from "bun:test";
import * as fc from "fast-check";
import { toRequestBytes } from "../faults/ask.ts";
import { checkRefusal, type Answer } from "../invariants/answers.ts";
import { createChance } from "../support/chance.ts";
import { readNumber, scale } from "../support/scale.ts";
import { COMPLETION, forEach, SETUP_MS_MAX, startAbuseSite, type AbuseSite } from "./abuse-site.ts";
import { bodiesOf, toExpected } from "./hostile-bodies.ts";
import { Lane } from "./lane.ts";

/** Bodies of every kind on kept connections of the executable. LOCKPORT_BODIES says how many. */

const COUNT = readNumber("LOCKPORT_BODIES") ?? 500 * scale;
const WIDTH = 24;
/** As many as are made at a time, from a seed of their own. */
const BATCH = 2_000;
const TEST_MS_MAX = 120_000 + COUNT * 10;
const WRONG_MAX = 20;
const PATHS = ["/v1/chat/completions", "/v1/embeddings", "/completions"];

let site: AbuseSite;
beforeEach(async () => {
  site = await startAbuseSite();
}, SETUP_MS_MAX);
afterEach(() => site.stop());

test(
  "a body is forwarded or refused with the code that belongs to it, whatever it is, and nothing of it is repeated",
  async () => {
    const { seed } = createChance(readNumber("LOCKPORT_SEED"));
    console.log(`bodies: ${COUNT}, seed ${seed}`);
    const marker = site.planted.plant("a body's content");
    const arbitrary = bodiesOf(marker);
    const counts: Record<string, number> = {};
    const wrong: string[] = [];
    const known = new Set<string>();
    const lanes: Lane[] = [];
    for (let from = 0; from < COUNT; from += BATCH) {
      const bodies = fc.sample(arbitrary, { numRuns: Math.min(BATCH, COUNT - from), seed: seed + from });
      await forEach(bodies.length, WIDTH, async (index) => {
        const lane = lanes.pop() ?? new Lane(site.port);
        const body = bodies[index]!;
        const answer = await lane.ask(toRequest(PATHS[index % PATHS.length]!, body));
        lanes.push(lane);
        const found = judge(answer, body, marker, known);
        counts[found.code] = (counts[found.code] ?? 0) + 1;
        if (found.wrong !== null && wrong.length < WRONG_MAX)
          wrong.push(`${found.wrong}: ${body.toString()}`);
      });
    }
    for (const lane of lanes) lane.close();
    expect(wrong).toEqual([]);
    const { peakMib } = await site.check({ eventCount: (counts["ok"] ?? 0) + 1 });
    expect(site.arrivals()).toBe((counts["ok"] ?? 0) + 1);
    console.log(`bodies: ${JSON.stringify(counts)}, at most ${peakMib} MiB`);
  },
  TEST_MS_MAX,
);

function toRequest(path: string, body: Buffer): Buffer {
  const headers = { connection: "keep-alive", authorization: `Bearer ${site.asked.key}` };
  const head = toRequestBytes({ path, headers, body: "" }).toString("latin1");
  return Buffer.concat([
    Buffer.from(head.replace("content-length: 0", `content-length: ${body.length}`)),
    body,
  ]);
}

/** `known` are refusals that were looked at before: there are few, and a million of them. */
function judge(answer: Answer | null, body: Buffer, marker: string, known: Set<string>) {
  if (answer === null) return { code: "closed", wrong: "the connection was closed" };
  const code = answer.status === 200 ? "ok" : codeOf(answer);
  if (!toExpected(body).includes(code))
    return { code, wrong: `${code} in place of ${toExpected(body).join(" or ")}` };
  if (answer.status === 200) return { code, wrong: answer.body === COMPLETION ? null : "another answer" };
  if (known.has(answer.body)) return { code, wrong: null };
  if (known.size < 10_000) known.add(answer.body);
  try {
    checkRefusal(answer);
  } catch (error) {
    return { code, wrong: String(error) };
  }
  return { code, wrong: answer.body.includes(marker) ? "its content is repeated" : null };
}

function codeOf({ body }: Answer): string {
  try {
    return String(Object(Object(JSON.parse(body)).error).code);
  } catch {
    return "no envelope";
  }
}
