import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { provide } from "../support/installation.ts";
import { postgresMissing } from "../support/postgres.ts";
import { readNumber, scale } from "../support/scale.ts";
import { busyLimit, timed, until } from "../support/waiting.ts";
import { type ServedSite, startServedSite } from "./served-site.ts";
import type { Replica } from "./site.ts";

setDefaultTimeout(600_000);

/** From a thousand on they are made beside `RATE` requests a second, which takes a load in C (gcc). */
const DELETIONS = readNumber("LOCKPORT_DELETIONS") ?? 20 * scale;
const DELETIONS_AT_RATE = 1_000;
const RATE = 5_000;
const RATE_SECONDS = 90;
const KEYS_MAX = 250;
/** Keys that are deleted at a time. */
const LANES = 8;
const CALLERS_PER_REPLICA = 6;
const GRACE_MS = 3_000;
/** The time that the issue of a silent replica may add to its grace. */
const MARGIN_MS = 1_000;
/** Within which a replica that was cut off serves again. */
const RECOVERY_MS_MAX = 5_000;

let site: ServedSite;

interface MadeKey {
  readonly id: string;
  readonly key: string;
}

describe.skipIf(postgresMissing !== null)("a key that is deleted on one of three replicas", () => {
  beforeAll(async () => {
    site = await startServedSite({ replicas: 3, env: { PROXY_DATABASE_GRACE: `${GRACE_MS / 1000}s` } });
  });
  afterAll(() => site[Symbol.asyncDispose]());

  test("is refused by every replica from the moment of the answer on, under load, and was accepted by all before", async () => {
    await using _load = await startAnyLoad(site.adminKey);
    // A person has 500 keys at most.
    for (let left = DELETIONS; left > 0; left -= KEYS_MAX)
      await deleteAll(await makeKeys(Math.min(left, KEYS_MAX)));
  });

  test("is refused by a replica that was stopped meanwhile, also for requests that wait in its socket", async () => {
    const key = await makeKey();
    const stopped = second();
    stopped.process.signal("SIGSTOP");
    // Sent before the deletion and read after it: what they get is decided when they are read.
    const waiting = Array.from({ length: 20 }, () => use(stopped, key));
    await expectDeletedInTime(key);
    const late = Array.from({ length: 20 }, () => use(stopped, key));
    stopped.process.signal("SIGCONT");
    expect(await Promise.all([...waiting, ...late])).not.toContain(200);
    expect(await use(stopped, key)).toBe(401);
    expect(await use(stopped, { key: site.adminKey })).toBe(200);
    // It is heard again, so that the next deletion waits for it and not for its grace.
    const other = await makeKey();
    expect(await deleteKey(other)).toBeLessThan(busyLimit(MARGIN_MS));
    expect(await use(stopped, other)).toBe(401);
  });

  test("is deleted within the grace after a replica was killed, and within moments once it is known to be gone or back on its folder", async () => {
    const [key, next, last] = [await makeKey(), await makeKey(), await makeKey()];
    await second().kill();
    await expectDeletedInTime(key);
    expect(await deleteKey(next)).toBeLessThan(busyLimit(MARGIN_MS));
    expect(await use(third(), next)).toBe(401);
    await second().restart();
    expect(await use(second(), key)).toBe(401);
    await second().kill();
    await second().restart();
    expect(await deleteKey(last)).toBeLessThan(busyLimit(MARGIN_MS));
    expect(await use(second(), last)).toBe(401);
    expect(await use(second(), { key: site.adminKey })).toBe(200);
  });

  test("is not accepted by a replica that is cut off in silence, which serves others for its grace and again once it is back", async () => {
    const key = await makeKey();
    const cutOff = second();
    cutOff.network.silence();
    expect(await use(cutOff, key)).toBe(200);
    await expectDeletedInTime(key);
    expect(await use(cutOff, key)).not.toBe(200);
    cutOff.network.resume();
    await untilServing(cutOff);
    expect(await use(cutOff, key)).toBe(401);
  });
});

const first = (): Replica => site.replicaAt(0);
const second = (): Replica => site.replicaAt(1);
const third = (): Replica => site.replicaAt(2);

/** Keys that every replica has accepted. */
async function makeKeys(count: number): Promise<MadeKey[]> {
  const keys: MadeKey[] = [];
  for (let made = 0; made < count; made += 1) {
    const response = await site.ask(first(), "POST", "/my/keys", { label: "k" });
    expect(response.status).toBe(201);
    const answer: { readonly id: string; readonly key: string } = JSON.parse(await response.text());
    keys.push({ id: answer.id, key: answer.key });
  }
  for (const replica of site.replicas) {
    for (const key of keys) expect(await use(replica, key)).toBe(200);
  }
  return keys;
}

async function makeKey(): Promise<MadeKey> {
  const [key] = await makeKeys(1);
  if (key === undefined) throw new Error("no key was made");
  return key;
}

/** The status of a completion. */
async function use({ url }: Pick<Replica, "url">, { key }: Pick<MadeKey, "key">): Promise<number> {
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: '{"model":"m","messages":[]}',
  });
  await response.arrayBuffer();
  return response.status;
}

const UNMADE = "The database did not answer in time: nothing was changed. Try again.";
const TRIES_MAX = 3;

/** The time that the deletion took, in milliseconds: the last try, where a busy machine refused it and said that nothing was made. */
async function deleteKey({ id }: Pick<MadeKey, "id">): Promise<number> {
  for (let tries = 1; ; tries += 1) {
    const { result, tookMs } = await timed(async () => {
      const response = await site.ask(first(), "DELETE", `/my/keys/${id}`);
      return { status: response.status, text: await response.text() };
    });
    if (result.text.includes(UNMADE) && tries < TRIES_MAX) continue;
    expect(result).toMatchObject({ status: 200 });
    return tookMs;
  }
}

async function expectDeletedInTime(key: MadeKey): Promise<void> {
  expect(await deleteKey(key)).toBeLessThan(busyLimit(GRACE_MS + MARGIN_MS));
  expect(await use(first(), key)).toBe(401);
  expect(await use(third(), key)).toBe(401);
}

async function deleteAll(made: readonly MadeKey[]): Promise<void> {
  const keys = [...made];
  const accepted: string[] = [];
  const lane = async () => {
    for (let key = keys.pop(); key !== undefined; key = keys.pop()) {
      const deleted = key;
      await deleteKey(deleted);
      const answers = await Promise.all(site.replicas.map((replica) => use(replica, deleted)));
      for (const [index, status] of answers.entries())
        if (status !== 401) accepted.push(`replica ${index}: ${status}`);
    }
  };
  await Promise.all(Array.from({ length: LANES }, lane));
  expect(accepted).toEqual([]);
}

async function startAnyLoad(key: string): Promise<AsyncDisposable> {
  return DELETIONS < DELETIONS_AT_RATE ? startLoad(key) : startRate(key);
}

/** So many requests a second over all replicas, none of which may be refused. */
async function startRate(key: string): Promise<AsyncDisposable> {
  const {
    runLoad,
    startUpstream: startFastUpstream,
    toRequest,
    writeRequests,
  } = await import("../../bench/wire.ts");
  const fast = await startFastUpstream();
  await provide(first().url, site.adminKey, {
    name: "fast",
    baseUrl: `http://127.0.0.1:${fast.port}/v1`,
    models: { fast: "um" },
  });
  const request = toRequest(
    "/v1/chat/completions",
    `authorization: Bearer ${key}\r\n`,
    '{"model":"fast","messages":[]}',
  );
  const path = writeRequests([request]);
  const loads = site.replicas.map(({ url }) =>
    runLoad(path, Number(new URL(url).port), {
      connections: 32,
      seconds: RATE_SECONDS,
      rate: RATE / site.replicas.length,
    }),
  );
  return {
    async [Symbol.asyncDispose]() {
      const results = await Promise.all(loads);
      await fast.stop();
      const requests = results.reduce((sum, result) => sum + result.requests, 0);
      const failures = results.map(({ failures: count, firstFailure }) => ({ count, firstFailure }));
      console.log(`deletions: ${DELETIONS} beside ${Math.round(requests / RATE_SECONDS)} requests a second`);
      expect(failures).toEqual(results.map(() => ({ count: 0, firstFailure: "" })));
    },
  };
}

/** Callers of every replica, none of which may be refused. */
function startLoad(key: string): AsyncDisposable {
  const refused: number[] = [];
  const callers = site.startCallers(
    site.replicas.map(() => CALLERS_PER_REPLICA),
    async (replica) => {
      const status = await use(replica, { key });
      if (status !== 200) refused.push(status);
    },
  );
  return {
    async [Symbol.asyncDispose]() {
      await callers.stop();
      expect(refused).toEqual([]);
    },
  };
}

async function untilServing({ url }: Replica): Promise<void> {
  await until(
    async () =>
      (await fetch(`${url}/healthz`)).status === 200 && (await use({ url }, { key: site.adminKey })) === 200,
    () => "it serves again",
    RECOVERY_MS_MAX,
  );
}
