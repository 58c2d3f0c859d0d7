import { expect, test } from "bun:test";
import { createLog } from "#kernel/log.ts";
import { toPeer } from "#identity/peer.ts";
import { createSignInLog } from "#identity/sign-in-log.ts";
import { createTestClock } from "./support.ts";

function openLog() {
  const lines: Record<string, unknown>[] = [];
  const write = (line: string) => void lines.push(JSON.parse(line));
  const clock = createTestClock();
  const log = createLog({ level: "info", json: true, write, timestamp: () => "" });
  return { lines, clock, signIns: createSignInLog(log, clock) };
}

test("failures of one network have five lines a minute, then one at 20, 200 and so on: strangers cannot fill the log", () => {
  const { lines, clock, signIns } = openLog();
  const fail = (address: string, times: number) => {
    for (let time = 0; time < times; time += 1) {
      signIns.failed("password", { code: "wrong_password", peer: toPeer(address), isUnseen: time > 20 });
    }
  };
  fail("192.0.2.66", 5000);
  expect(lines.map(({ level, failed_this_minute }) => [level, failed_this_minute])).toEqual([
    ...Array.from({ length: 5 }, () => ["info", undefined]),
    ["warn", 20],
    ["warn", 200],
    ["warn", 2000],
  ]);
  expect(lines.at(-1)).toMatchObject({ address: "192.0.2.66", way: "password", looked_at: false });
  fail("192.0.2.1", 1);
  expect(lines).toHaveLength(9);
  clock.advance(60_000);
  fail("192.0.2.66", 1);
  expect(lines).toHaveLength(10);
});

test("failures of ever more networks count together beyond a thousand", () => {
  const { lines, signIns } = openLog();
  for (let index = 0; index < 5000; index += 1) {
    const peer = toPeer(`10.0.${index >> 8}.${index & 255}`);
    signIns.failed("login_link", { code: "invalid_login_link", peer });
  }
  expect(lines.length).toBeLessThan(1020);
});
