import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createAuthenticator } from "#identity/caller.ts";
import { createKeys } from "#identity/keys.ts";
import { createKeyUse } from "#identity/key-use.ts";
import { createOwnedSecrets } from "#identity/owned-secret.ts";
import { createPrincipals } from "#identity/principals.ts";
import { createRelayAuthenticator } from "#identity/relay-caller.ts";
import { issueSession } from "#identity/sessions.ts";
import { createUsedStates } from "#identity/sso-state.ts";
import { createSystemClock } from "#kernel/clock.ts";
import { createKeyring } from "#kernel/keyring.ts";
import { createSystemIds } from "#kernel/ids.ts";
import { createLog } from "#kernel/log.ts";
import { openCatalogDatabase } from "#storage/sqlite/catalog/catalog-database.ts";

/**
 * The cost of authentication by session, key and relay token, on a catalog of a real size.
 * `bun bench/sign-in.ts`
 */
const PRINCIPALS = 200;
const SESSIONS_PER_PRINCIPAL = 10;
const ROUNDS = 20;
const CALLS = 5_000;

const folder = mkdtempSync(join(tmpdir(), "lockport-sign-in-"));
try {
  await run();
} finally {
  rmSync(folder, { recursive: true, force: true });
}

async function run(): Promise<void> {
  const clock = createSystemClock();
  const ids = createSystemIds();
  const secrets = createKeyring(ids.randomBytes(32));
  const log = createLog({ level: "error", json: true, write: () => {}, timestamp: () => "" });
  const database = await openCatalogDatabase({
    path: join(folder, "catalog.db"),
    secrets,
    clock,
    log,
    isServing: true,
  });
  const store = database.identity;
  const keyUse = createKeyUse({ loadLastUsed: async () => new Map(), saveLastUsed: () => {} }, clock);
  const principals = createPrincipals({ store, clock, ids });
  const keys = createKeys({ store, secrets, clock, ids });
  const relayTokens = createOwnedSecrets("relayTokens", { store, secrets, clock, ids });
  const authenticator = createAuthenticator({
    store,
    keyUse,
    secrets,
    clock,
    passwordPrint: { isInForce: () => true },
    signIns: { sessionReused: () => {} },
    usedStates: createUsedStates(clock),
  });
  const relay = createRelayAuthenticator({ store, keyUse, secrets, clock });

  const bySession: Headers[] = [];
  const byKey: Headers[] = [];
  const tokens: string[] = [];
  for (let index = 0; index < PRINCIPALS; index += 1) {
    const principal = await principals.create({ name: `person-${index}` }, null);
    for (let session = 0; session < SESSIONS_PER_PRINCIPAL; session += 1) {
      const { cookieValue } = await issueSession(
        { store, secrets, clock, ids, sessionTtlSeconds: 3600 },
        principal,
      );
      bySession.push(
        new Headers({ cookie: `theme=dark; proxy_session=${cookieValue}`, accept: "application/json" }),
      );
    }
    const key = await keys.create({ principalId: principal.id }, null);
    byKey.push(new Headers({ authorization: `Bearer ${key.plaintext}` }));
    tokens.push((await relayTokens.create({ principalId: principal.id }, null)).plaintext);
  }

  await measure("a session", bySession, (headers) => Promise.resolve(authenticator.authenticate(headers)));
  await measure("an API key", byKey, (headers) => Promise.resolve(authenticator.authenticate(headers)));
  await measure("a relay token", tokens, (token) => relay.authenticate(token));
  await database.close();
}

/** The median and the worst of the rounds' means; each round is a turn of its own. */
async function measure<Given>(
  what: string,
  given: readonly Given[],
  call: (given: Given) => Promise<unknown>,
): Promise<void> {
  const meansUs: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    await new Promise((resolve) => setImmediate(resolve));
    const startedMs = performance.now();
    for (let index = 0; index < CALLS; index += 1) {
      const one = given[(round * CALLS + index) % given.length];
      if (one !== undefined) await call(one);
    }
    meansUs.push(((performance.now() - startedMs) / CALLS) * 1000);
  }
  meansUs.sort((a, b) => a - b);
  const [median = 0, worst = 0] = [meansUs[ROUNDS >> 1], meansUs.at(-1)];
  console.log(`${what}: ${median.toFixed(1)} µs, at worst ${worst.toFixed(1)} µs`);
}
