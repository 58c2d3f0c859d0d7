import { describe, expect, test } from "bun:test";
import {
  createSystemClock,
  FIRST_INSTANT_US,
  formatInstant,
  LAST_INSTANT_US,
  parseInstant,
} from "#kernel/clock.ts";
import { ERROR_STATUS, ProxyError } from "#kernel/errors.ts";
import { createSystemIds, eventIdToUuid } from "#kernel/ids.ts";
import { createLog, describeCause } from "#kernel/log.ts";
import { parsePage } from "#kernel/page.ts";
import { codePointLength, hasControlCharacter, isName, truncateCodePoints } from "#kernel/text.ts";

describe("pages", () => {
  test("a limit from 1 to 500 and an offset from 0 are taken", () => {
    expect(parsePage({ limit: "1", offset: "0" })).toEqual({ limit: 1, offset: 0 });
    expect(parsePage({ limit: "500", offset: "123456" })).toEqual({ limit: 500, offset: 123456 });
  });

  test("an invalid limit or offset falls back to 100 and 0 and is never an error", () => {
    for (const bad of [
      undefined,
      "",
      "0",
      "501",
      "-1",
      "1.5",
      "1e2",
      " 5",
      "abc",
      "٣",
      "99999999999999999999",
    ]) {
      expect(parsePage({ limit: bad, offset: bad === "0" || bad === "501" ? undefined : bad })).toEqual({
        limit: 100,
        offset: 0,
      });
    }
  });
});

describe("names and lengths", () => {
  test("lengths count code points and a cut never splits a surrogate pair", () => {
    expect(codePointLength("a🙂b")).toBe(3);
    expect(truncateCodePoints("🙂🙂🙂", 2)).toBe("🙂🙂");
    expect(truncateCodePoints("abc", 3)).toBe("abc");
  });

  test("a name is lower case, starts with a letter or digit and has at most 120 characters", () => {
    expect(["a", "0", "a.b_c-d", "a".repeat(120)].every(isName)).toBe(true);
    expect(["", "A", "-a", ".a", "a b", "a/b", "ä", "a\n", "a".repeat(121)].some(isName)).toBe(false);
  });

  test("C0, DEL and C1 controls are told from printable text", () => {
    expect(["\u0000", "\n", "\u007f", "\u0085"].every(hasControlCharacter)).toBe(true);
    expect(["", "abc", "ü", "🙂"].some(hasControlCharacter)).toBe(false);
  });
});

describe("instants and ids", () => {
  test("a timestamp is UTC with six decimals", () => {
    expect(formatInstant(1_700_000_000_123_456)).toBe("2023-11-14T22:13:20.123456Z");
    expect(formatInstant(1_700_000_000_000_007)).toBe("2023-11-14T22:13:20.000007Z");
  });

  test("an instant that four digits of a year cannot tell is the nearest that they can, and never an error", () => {
    for (const far of [LAST_INSTANT_US, LAST_INSTANT_US + 32, 2 ** 63, Infinity])
      expect(formatInstant(far)).toBe("9999-12-31T23:59:59.999968Z");
    for (const early of [FIRST_INSTANT_US, FIRST_INSTANT_US - 1000, -(2 ** 63)])
      expect(formatInstant(early)).toBe("0000-01-01T00:00:00.000000Z");
  });

  test("far from 1970, where numbers skip microseconds, what is told reads back as the same instant", () => {
    for (let back = 0; back < 2_000; back += 1) {
      const instantUs = LAST_INSTANT_US - back * 32;
      expect(parseInstant(formatInstant(instantUs))).toBe(instantUs);
      const early = FIRST_INSTANT_US + back * 8;
      expect(parseInstant(formatInstant(early))).toBe(early);
    }
  });

  test("the system clock gives whole microseconds near the wall clock", () => {
    const nowUs = createSystemClock().nowUs();
    expect(Number.isSafeInteger(nowUs)).toBe(true);
    expect(Math.abs(nowUs / 1000 - Date.now())).toBeLessThan(1000);
  });

  test("an event's UUIDv7 is derived from its microsecond, sorts by it and is never shared by two", () => {
    const first = eventIdToUuid(1_700_000_000_123_456);
    expect(first).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(eventIdToUuid(1_700_000_000_123_457) > first).toBe(true);
    expect(createSystemIds().uuid()).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7/);
  });

  test("replicas never give one UUID twice: it ends with the lane, and without one it is what a single server gives", () => {
    const arrivedAtUs = 1_700_000_000_123_456;
    const lanes = [0, 1, 2, 255, 65_535];
    const uuids = lanes.map((lane) => eventIdToUuid(arrivedAtUs, lane));
    expect(uuids[0]).toBe(eventIdToUuid(arrivedAtUs));
    expect(uuids[0]).toBe("018bcfe5-687b-71c8-8000-000000000000");
    expect(uuids.map((uuid) => uuid.slice(-12))).toEqual([
      "000000000000",
      "000000000001",
      "000000000002",
      "0000000000ff",
      "00000000ffff",
    ]);
    expect(new Set(uuids.map((uuid) => uuid.slice(0, -12))).size).toBe(1);
  });
});

describe("errors and the log", () => {
  test("every code has a 4xx or 5xx status, and an error knows its own", () => {
    for (const status of Object.values(ERROR_STATUS)) expect(status >= 400 && status <= 599).toBe(true);
    expect(new ProxyError("model_not_found", "no", { param: "model" })).toMatchObject({
      status: 404,
      param: "model",
    });
  });

  test("lines below the level are not written, and JSON lines stay on one line", () => {
    const lines: string[] = [];
    const log = createLog({
      level: "warn",
      json: true,
      write: (line) => lines.push(line),
      timestamp: () => "T",
    });
    log.info("quiet");
    log.error("loud\nbreak", { port: 4000 });
    expect(lines).toEqual(['{"ts":"T","level":"error","message":"loud\\nbreak","port":4000}\n']);
  });

  test("a logged cause tells class and code, never its message", () => {
    const cause = Object.assign(new TypeError("fetch https://user:secret@host failed"), {
      code: "ECONNRESET",
    });
    expect(describeCause(cause)).toEqual({ cause: "TypeError", cause_code: "ECONNRESET" });
    expect(JSON.stringify(describeCause("secret"))).not.toContain("secret");
  });
});
