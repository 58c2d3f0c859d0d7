import { expect, test } from "bun:test";
import { StartAborted, untilReachable } from "#boot/server.ts";
import { SetupError, UnreachableError } from "#kernel/errors.ts";
import { StatementError } from "#storage/postgres/connection/errors.ts";
import { createLog } from "#kernel/log.ts";

const away = () =>
  new UnreachableError("PostgreSQL cannot be reached (refused).", { code: "refused", mayBeCommitted: false });

function createWaiting(waitMsMax = 10_000, signal = new AbortController().signal) {
  const lines: string[] = [];
  const log = createLog({
    level: "info",
    json: true,
    write: (line) => lines.push(line),
    timestamp: () => "",
  });
  return { lines, waiting: { monotonicMs: () => performance.now(), log, signal, waitMsMax } };
}

/** Answers at the `count`th time, as a database that starts. */
function answerAt(count: number) {
  let asked = 0;
  return {
    asked: () => asked,
    async open() {
      asked += 1;
      if (asked < count) throw away();
      return "opened";
    },
  };
}

test("a start waits for a database that is away, says so once in JSON, and goes on when it answers", async () => {
  const { lines, waiting } = createWaiting();
  const database = answerAt(3);
  expect(await untilReachable(() => database.open(), waiting)).toBe("opened");
  expect(database.asked()).toBe(3);
  expect(lines.map((line) => JSON.parse(line))).toEqual([
    expect.objectContaining({
      level: "warn",
      message: "the database does not answer: the start waits for it",
    }),
  ]);
});

test("a start ends with what it has waited for once another pause would outlast its time", async () => {
  const { waiting } = createWaiting(1_500);
  const database = answerAt(100);
  const thrown: unknown = await untilReachable(() => database.open(), waiting).catch(
    (cause: unknown) => cause,
  );
  expect(thrown).toBeInstanceOf(UnreachableError);
  // At the start, and a second later.
  expect(database.asked()).toBe(2);
});

test("what a setting causes ends a start at once: waiting mends nothing", async () => {
  const { lines, waiting } = createWaiting();
  const refuse = () => Promise.reject(new SetupError("configuration", "PostgreSQL refuses the password."));
  const thrown: unknown = await untilReachable(refuse, waiting).catch((cause: unknown) => cause);
  expect(thrown).toBeInstanceOf(SetupError);
  expect(lines).toEqual([]);
});

test("what a database refuses for now is waited for, and what it refuses for good is not", async () => {
  const refuseOnce = (code: string) => {
    let asked = 0;
    return async () => {
      asked += 1;
      if (asked === 1) throw new StatementError(code, null);
      return "opened";
    };
  };
  const open = (code: string) =>
    untilReachable(refuseOnce(code), createWaiting().waiting).catch((cause: unknown) => cause);
  // A lock, a full disk, a conflict, a disk that fails.
  const passing = ["57014", "55P03", "53100", "40001", "58030"];
  expect(await Promise.all(passing.map(open))).toEqual(passing.map(() => "opened"));
  for (const code of ["42P01", "23505"]) expect(await open(code)).toBeInstanceOf(StatementError);
});

test("a process that is told to end while it waits ends at once and asks no more", async () => {
  const end = new AbortController();
  const { waiting } = createWaiting(10_000, end.signal);
  const database = answerAt(100);
  const waited = untilReachable(() => database.open(), waiting).catch((cause: unknown) => cause);
  while (database.asked() === 0) await Bun.sleep(0);
  end.abort();
  expect(await waited).toBeInstanceOf(StartAborted);
  expect(database.asked()).toBe(1);
});
