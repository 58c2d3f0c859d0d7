import { expect } from "bun:test";
import * as fc from "fast-check";
import type { IdentityStore } from "#identity/store.ts";
import type { IdentityModel } from "./model.ts";
import { apiKey, AUDIT, PAGE, principal, relayToken, START_US } from "./support.ts";

/** One call of the store, and what the plain model says of it. */
interface IdentityOperation {
  readonly name: string;
  readonly audited: boolean;
  expect(model: IdentityModel): string | null;
  run(store: IdentityStore): Promise<unknown>;
}

const PRINCIPALS = ["a", "b", "c"];
const SECRETS = [
  { kind: "keys", names: ["k0", "k1", "k2", "k3"], make: apiKey },
  { kind: "relayTokens", names: ["t0", "t1", "t2"], make: relayToken },
] as const;
const SUBJECTS = ["42", "43"];
const ISSUER = "https://idp.example";
const SESSIONS = ["s0", "s1", "s2"];
const NOW_US = START_US + 1_000;

const name = fc.constantFrom(...PRINCIPALS);
const ownerId = name.map((owner) => `principal-${owner}`);
const role = fc.constantFrom("member" as const, "admin" as const);
const audit = fc.constantFrom(AUDIT, null);

export const identityOperation: fc.Arbitrary<IdentityOperation> = fc.oneof(
  fc
    .record({ name, role, enabled: fc.boolean(), audit })
    .map(({ name: given, role: as, enabled, audit: entry }) => {
      const row = principal(given, { role: as, enabled });
      return operation(
        `create ${given}`,
        entry !== null,
        (model) => model.createPrincipal(row),
        (store) => store.createPrincipal(row, entry),
      );
    }),
  fc.record({ name, role }).map(({ name: given, role: as }) => {
    const row = principal(given, { role: as });
    return operation(
      `ensure ${given}`,
      false,
      (model) => model.ensurePrincipal(row),
      (store) => store.ensurePrincipal(row),
    );
  }),
  fc
    .record({ id: ownerId, change: fc.record({ role, enabled: fc.boolean() }, { requiredKeys: [] }), audit })
    .map(({ id, change, audit: entry }) =>
      operation(
        `update ${id}`,
        entry !== null,
        (model) => model.updatePrincipal(id, change),
        (store) => store.updatePrincipal(id, change, entry),
      ),
    ),
  fc.record({ id: ownerId, audit }).map(({ id, audit: entry }) =>
    operation(
      `delete ${id}`,
      entry !== null,
      (model) => model.deletePrincipal(id),
      (store) => store.deletePrincipal(id, entry),
    ),
  ),
  ...SECRETS.flatMap(({ kind, names, make }) => [
    fc
      .record({ secret: fc.constantFrom(...names), id: ownerId, audit })
      .map(({ secret, id, audit: entry }) => {
        const row = make(secret, id);
        return operation(
          `create ${row.id}`,
          entry !== null,
          (model) => model.createSecret(kind, row),
          (store) => store[kind].create(row, entry),
        );
      }),
    fc
      .record({ secret: fc.constantFrom(...names), owner: fc.option(ownerId), audit })
      .map(({ secret, owner, audit: entry }) => {
        const { id } = make(secret, "");
        const filter = owner === null ? { id } : { id, principalId: owner };
        return operation(
          `delete ${id}`,
          entry !== null,
          (model) => model.deleteSecret(kind, filter),
          (store) => store[kind].delete(filter, entry),
        );
      }),
  ]),
  fc.record({ name, subject: fc.constantFrom(...SUBJECTS) }).map(({ name: given, subject }) => {
    const row = principal(given);
    return operation(
      `sign in ${subject} as ${given}`,
      false,
      (model) => model.createPrincipalForSubject(row, subject),
      (store) => store.createPrincipalForSubject(row, { issuer: ISSUER, subject }),
    );
  }),
  fc
    .record({
      token: fc.constantFrom(...SESSIONS),
      principalId: ownerId,
      ttlUs: fc.constantFrom(500, 1_000, 2_000),
    })
    .map(({ token, principalId, ttlUs }) => {
      const row = {
        tokenHash: token,
        principalId,
        cookieIssuedAtUs: START_US,
        expiresAtUs: START_US + ttlUs,
      };
      return operation(
        `create session ${token}`,
        false,
        (model) => model.createSession(row, NOW_US),
        (store) => store.createSession(row, NOW_US),
      );
    }),
  fc.record({ principalId: ownerId, audit }).map(({ principalId, audit: entry }) =>
    operation(
      `revoke ${principalId}`,
      entry !== null,
      (model) => model.revokeSessions(principalId),
      (store) => store.revokeSessions(principalId, entry),
    ),
  ),
  fc.constantFrom(...SESSIONS).map((token) =>
    operation(
      `sign out ${token}`,
      false,
      (model) => (model.sessions.delete(token), null),
      (store) => store.deleteSession(token),
    ),
  ),
);

function operation(
  label: string,
  audited: boolean,
  expected: IdentityOperation["expect"],
  run: IdentityOperation["run"],
): IdentityOperation {
  return { name: label, audited, expect: expected, run };
}

/** Whatever can be asked of the store is answered as the model answers it. */
export async function requireSame(store: IdentityStore, model: IdentityModel): Promise<void> {
  for (const { kind, names } of SECRETS) {
    for (const one of names)
      expect(await store[kind].findByHash(`hash-${one}`)).toEqual(model.findByHash(kind, `hash-${one}`));
    const ids = (await store[kind].list({}, PAGE)).rows.map(({ id }) => id);
    expect(ids).toEqual([...model.secrets[kind].keys()].toSorted());
  }
  for (const subject of SUBJECTS)
    expect(await store.findPrincipalBySubject(ISSUER, subject)).toEqual(
      model.findPrincipalBySubject(subject),
    );
  for (const token of SESSIONS) {
    for (const nowUs of [START_US, NOW_US])
      expect(await store.findSession(token, nowUs)).toEqual(model.findSession(token, nowUs));
  }
  const byName = [...model.principals.values()].toSorted((left, right) => (left.name < right.name ? -1 : 1));
  expect(await store.listPrincipals(PAGE)).toEqual({ rows: byName, total: byName.length });
}
