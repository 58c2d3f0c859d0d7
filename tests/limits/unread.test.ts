import { afterEach, beforeEach, expect, test } from "bun:test";
import { join } from "node:path";
import { ProxyError } from "#kernel/errors.ts";
import { createSystemClock } from "#kernel/clock.ts";
import { createSystemIds } from "#kernel/ids.ts";
import { createKeyring } from "#kernel/crypto.ts";
import { createLimitAdmin } from "#limits/limit-admin.ts";
import { Limits } from "#limits/limits.ts";
import { openTestStores, type TestStores } from "../support/catalog-stores.ts";
import { makeFolder } from "../support/folder.ts";
import { silentLog } from "../storage/support.ts";

const clock = createSystemClock();
const ids = createSystemIds();
const DRAFT = { name: "day", subject: {}, measure: "requests", amount: 5, window: "day" } as const;

let folder: ReturnType<typeof makeFolder>;
let stores: TestStores;
beforeEach(async () => {
  folder = makeFolder();
  stores = await openTestStores(join(folder.path, "catalog.db"), {
    secrets: createKeyring(ids.randomBytes(32)),
    clock,
    log: silentLog,
  });
});
afterEach(async () => {
  await stores.close();
  folder.remove();
});

test("a change of limits that is committed while the ledger adds nothing up is answered as one that was made", async () => {
  const limits = new Limits({
    store: stores.limits,
    ledger: { sumLimits: () => Promise.reject(new Error("the ledger is away")) },
    clock,
    log: silentLog,
  });
  const admin = createLimitAdmin({ store: stores.limits, limits, clock, ids });
  const stored = async () => (await stores.limits.snapshot()).limits;
  const refusal = async (change: Promise<unknown>) => {
    const cause: unknown = await change.catch((thrown: unknown) => thrown);
    if (!(cause instanceof ProxyError)) throw new Error("it was not refused", { cause });
    return `${cause.code}: ${cause.message}`;
  };
  const made = expect.stringMatching(/^internal_error: The change was made, /);

  expect(await refusal(admin.create(DRAFT, null))).toEqual(made);
  const [limit] = await stored();
  expect(limit).toMatchObject({ name: "day", amount: 5n });
  // A limit whose use cannot be added up can still be switched off.
  expect(await refusal(admin.update(limit!.id, { enabled: false }, null))).toEqual(made);
  expect(await stored()).toMatchObject([{ enabled: false }]);
  await admin.delete(limit!.id, null);
  expect(await stored()).toEqual([]);
  limits.close();
});
