import { expect, test } from "bun:test";
import * as fc from "fast-check";
import { ENDPOINT_NAMES, toRow } from "#catalog/endpoint.ts";
import { toRequestBytes } from "../faults/ask.ts";
import { checkRefusal, type Answer } from "../invariants/answers.ts";
import { COMPLETION } from "./abuse-site.ts";
import { bodiesOf, formsOf, toExpected, toModel } from "./hostile-bodies.ts";
import type { Lane } from "./lane.ts";
import { forEachLane, noteWrong, tryMany } from "./many.ts";

/** Bodies of every kind on kept connections of the executable. LOCKPORT_BODIES says how many. */

const READS: { readonly [name: string]: readonly string[] } = {
  chat: ["model", "stream", "stream_options"],
  completions: ["model", "stream", "stream_options"],
  embeddings: ["model", "input"],
  speech: ["model"],
  moderation: ["model"],
  rerank: ["model"],
};
const MANY = tryMany("bodies", { variable: "LOCKPORT_BODIES", usual: 500 });
const WIDTH = 24;
/** As many as are made at a time, from a seed of their own. */
const BATCH = 2_000;
/** Every row of the table of endpoints that takes JSON, and what it reads, told a second time on purpose. */
const ROWS = ENDPOINT_NAMES.filter((name) => toRow(name).body?.includes("json") === true).map(
  (name, index) => ({
    path: `${index % 2 === 0 ? "/v1" : ""}${toRow(name).path}`,
    read: READS[name] ?? ["model", "stream"],
  }),
);
const FORM_ROWS = ENDPOINT_NAMES.filter((name) => toRow(name).body?.includes("form") === true);
const BOUNDARY = "----form-of-many";
const FORM_CODES = ["ok", "invalid_multipart", "model_required", "model_not_found"];

test(
  "a body is forwarded or refused with the code that belongs to it, whatever it is, and nothing of it is repeated",
  async () => {
    const { seed } = MANY.begin();
    const site = MANY.site();
    const { count } = MANY;
    const marker = site.planted.plant("a body's content");
    const arbitrary = bodiesOf(marker);
    const counts: Record<string, number> = {};
    const wrong: string[] = [];
    const known = new Set<string>();
    const lanes: Lane[] = [];
    const { port } = site;
    for (let from = 0; from < count; from += BATCH) {
      const bodies = fc.sample(arbitrary, { numRuns: Math.min(BATCH, count - from), seed: seed + from });
      await forEachLane({ port, lanes }, { count: bodies.length, width: WIDTH }, async (lane, index) => {
        const body = bodies[index]!;
        const { path, read } = ROWS[index % ROWS.length]!;
        const answer = await lane.ask(toRequest({ path, key: site.asked.key, body }));
        const expected = toExpected(body, read);
        const found = judge(answer, { body, expected }, { marker, known });
        counts[found.code] = (counts[found.code] ?? 0) + 1;
        if (found.wrong !== null) noteWrong(wrong, `${found.wrong}: ${body.toString()}`);
      });
    }
    for (const lane of lanes) lane.close();
    expect(wrong).toEqual([]);
    const { peakMib } = await site.check({ eventCount: (counts["ok"] ?? 0) + 1 });
    expect(site.arrivals()).toBe((counts["ok"] ?? 0) + 1);
    console.log(`bodies: ${JSON.stringify(counts)}, at most ${peakMib} MiB`);
  },
  MANY.testMsMax,
);

test(
  "a form is forwarded or refused, whatever it is, and nothing of it is repeated",
  async () => {
    const { seed } = MANY.begin();
    const site = MANY.site();
    const marker = site.planted.plant("a form's content");
    const arrivalsBefore = site.arrivals();
    const forms = fc.sample(formsOf(marker, BOUNDARY), { numRuns: Math.min(BATCH, MANY.count), seed });
    const counts: Record<string, number> = {};
    const wrong: string[] = [];
    const lanes: Lane[] = [];
    const known = new Set<string>();
    await forEachLane(
      { port: site.port, lanes },
      { count: forms.length, width: WIDTH },
      async (lane, index) => {
        const body = forms[index]!;
        const path = `/v1${toRow(FORM_ROWS[index % FORM_ROWS.length]!).path}`;
        const type = `multipart/form-data; boundary=${BOUNDARY}`;
        const answer = await lane.ask(toRequest({ path, key: site.asked.key, body, type }));
        const found = judge(answer, { body, expected: FORM_CODES }, { marker, known });
        counts[found.code] = (counts[found.code] ?? 0) + 1;
        // An unknown model is named to its caller, and may hold what was put into it.
        const isNamed = found.code === "model_not_found" && found.wrong === "its content is repeated";
        if (found.wrong !== null && !isNamed) noteWrong(wrong, `${found.wrong}: ${body.toString()}`);
      },
    );
    for (const lane of lanes) lane.close();
    expect(wrong).toEqual([]);
    expect(Object.keys(counts).toSorted()).toEqual(FORM_CODES.toSorted());
    await site.check({ eventCount: (counts["ok"] ?? 0) + 1 });
    expect(site.arrivals() - arrivalsBefore).toBe((counts["ok"] ?? 0) + 1);
    console.log(`forms: ${JSON.stringify(counts)}`);
  },
  MANY.testMsMax,
);

interface Asked {
  readonly path: string;
  readonly key: string;
  readonly body: Buffer;
  readonly type?: string;
}

function toRequest({ path, key, body, type = "application/json" }: Asked): Buffer {
  const headers = { connection: "keep-alive", authorization: `Bearer ${key}`, "content-type": type };
  const head = toRequestBytes({ path, headers, body: "" }).toString("latin1");
  return Buffer.concat([
    Buffer.from(head.replace("content-length: 0", `content-length: ${body.length}`)),
    body,
  ]);
}

interface Sent {
  readonly body: Buffer;
  readonly expected: readonly string[];
}

/** `known` are refusals that were looked at before, without their ids: there are few, and a million of them. */
function judge(
  answer: Answer | null,
  { body, expected }: Sent,
  { marker, known }: { readonly marker: string; readonly known: Set<string> },
) {
  if (answer === null) return { code: "closed", wrong: "the connection was closed" };
  const code = answer.status === 200 ? "ok" : codeOf(answer);
  if (!expected.includes(code)) return { code, wrong: `${code} in place of ${expected.join(" or ")}` };
  if (answer.status === 200) return { code, wrong: answer.body === COMPLETION ? null : "another answer" };
  const refusal = answer.body.replaceAll(answer.headers.get("x-proxy-request-id") ?? "none", "");
  if (known.has(refusal)) return { code, wrong: null };
  if (known.size < 10_000) known.add(refusal);
  try {
    checkRefusal(answer);
  } catch (error) {
    return { code, wrong: String(error) };
  }
  // A refusal names the model that was asked for, and nothing else.
  const named = code === "model_not_found" ? countIn(toModel(body), marker) : 0;
  return { code, wrong: countIn(answer.body, marker) > named ? "its content is repeated" : null };
}

const countIn = (text: string, marker: string) => text.split(marker).length - 1;

function codeOf({ body }: Answer): string {
  try {
    return String(Object(Object(JSON.parse(body)).error).code);
  } catch {
    return "no envelope";
  }
}
