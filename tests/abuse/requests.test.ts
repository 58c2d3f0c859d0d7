import { expect, test } from "bun:test";
import type { Chance } from "../support/chance.ts";
import { forEach } from "./abuse-site.ts";
import { judge } from "./judge.ts";
import { FRAMING } from "./malformed-framing.ts";
import { HEADS } from "./malformed-heads.ts";
import { noteWrong, tryMany } from "./many.ts";
import { talk } from "./talk.ts";

/** Requests that are none, or that two readers may read in two ways, against the built executable. */

const MALFORMED = [...FRAMING, ...HEADS];
const WIDTH = 16;
/** Made at random from those that are written down. */
const MANY = tryMany("raw requests", { variable: "LOCKPORT_RAW_REQUESTS", usual: 500 });
const WIDTH_OF_MANY = 100;
const SILENCE_MS = 30;

test(
  "a malformed request has one refusal or none, never an answer to what is hidden in it, and costs nothing",
  async () => {
    expect(MALFORMED.length).toBeGreaterThanOrEqual(200);
    const wrong: string[] = [];
    const site = MANY.site();
    await forEach(MALFORMED.length, WIDTH, async (index) => {
      const { name, bytes } = MALFORMED[index]!;
      const found = judge(bytes, (await talk(site.port, bytes)).received);
      if (found !== null) wrong.push(`${name}: ${found}`);
    });
    expect(wrong).toEqual([]);
    await site.check({ eventCount: 1 });
  },
  MANY.testMsMax,
);

test(
  "so has whatever becomes of one by chance",
  async () => {
    const chance = MANY.begin();
    const site = MANY.site();
    const wrong: string[] = [];
    await forEach(MANY.count, WIDTH_OF_MANY, async () => {
      const bytes = mutate(chance.pick(MALFORMED).bytes, chance);
      const found = judge(bytes, (await talk(site.port, bytes, SILENCE_MS)).received);
      if (found !== null) noteWrong(wrong, `${found}: ${JSON.stringify(bytes.slice(0, 2_000))}`);
    });
    expect(wrong).toEqual([]);
    const { peakMib } = await site.check({ eventCount: 1 });
    console.log(`raw requests: at most ${peakMib} MiB`);
  },
  MANY.testMsMax,
);

/** Texts that readers of HTTP stumble over. */
const STUMBLES = [
  "\r\n",
  "\n",
  "\r",
  "\0",
  " ",
  "\t",
  ":",
  ",",
  ";",
  "\x0b",
  "\xa0",
  "\xff",
  "%00",
  "0",
  "chunked",
  "HTTP/1.1",
  "\r\n\r\n",
];

function mutate(bytes: string, chance: Chance): string {
  let changed = bytes;
  for (let count = 1 + chance.below(4); count > 0; count -= 1) {
    // Most of what can be read wrongly stands at the beginning.
    const at = chance.below(Math.min(changed.length + 1, 300));
    const [before, after] = [changed.slice(0, at), changed.slice(at)];
    const length = chance.below(6);
    switch (chance.below(5)) {
      case 0:
        changed = before + chance.pick(STUMBLES) + after;
        break;
      case 1:
        changed = before + after.slice(length);
        break;
      case 2:
        changed = before + String.fromCharCode(chance.below(256)) + after.slice(1);
        break;
      case 3:
        changed = before + after.slice(0, length * 10) + after;
        break;
      default:
        changed = before + chance.pick(MALFORMED).bytes.slice(0, 100 + chance.below(200));
    }
  }
  return changed;
}
