import { expect, test } from "bun:test";
import { NO_TERMS, SECRETS_PER_PRINCIPAL_MAX } from "#identity/secret.ts";
import { createSecretBox } from "#kernel/crypto.ts";
import type { Limit } from "#limits/limit.ts";
import { LIMITS_MAX } from "#limits/store.ts";
import type { PeopleDraft } from "#people/people-draft.ts";
import { planPeople } from "#people/people-plan.ts";
import type { PeoplePicture, StoredKey } from "#people/store.ts";
import { refusalOf } from "../catalog/support.ts";

const ADMIN = {
  id: "1",
  name: "admin",
  kind: "user",
  role: "admin",
  enabled: true,
  createdAtUs: 0,
  tags: [],
} as const;
const LIMIT: Limit = {
  id: "l",
  name: "all",
  subject: { kind: "everybody" },
  model: null,
  formerModels: [],
  each: null,
  measure: "requests",
  amount: 5n,
  window: "day",
  action: "refuse",
  unpriced: "allow",
  unknownMax: null,
  fixed: false,
  enabled: true,
  createdAtUs: 0,
};
const NOTHING = { principals: null, keys: null, limits: null };
const EMPTY: PeoplePicture = {
  principals: [ADMIN],
  ssoIds: new Set(),
  keys: [],
  relayTokens: [],
  limits: [],
};

const toText = (at: number) => `lp_${String(at).padStart(43, "0")}`;
const storedKey = (at: number): StoredKey => ({
  id: `k${at}`,
  principalId: ADMIN.id,
  principalName: ADMIN.name,
  hash: `h${at}`,
  formerHash: null,
  suffix: "0000",
  label: `k${at}`,
  createdAtUs: at,
  terms: NO_TERMS,
  tags: [],
});

const plan = (draft: Partial<PeopleDraft>, current: Partial<PeoplePicture>, isPruned = false) =>
  planPeople(
    { ...NOTHING, ...draft },
    {
      isPruned,
      toBirth: (kind, name) => ({ id: `${kind}-${name}`, createdAtUs: 7 }),
      secrets: createSecretBox(new Uint8Array(32)),
      actor: { principalId: "actor" },
    },
  )({ ...EMPTY, ...current });

test("a principal has as many keys as its own route allows, counted at the end of the file", async () => {
  const keys = Array.from({ length: SECRETS_PER_PRINCIPAL_MAX }, (_, at) => storedKey(at));
  const draft = { keys: [{ id: "new", principal: "admin", secret: toText(1) }] };
  expect((await refusalOf(() => plan(draft, { keys }))).code).toBe("too_many_keys");
  expect(plan(draft, { keys }, true).result.changes).toHaveLength(SECRETS_PER_PRINCIPAL_MAX + 1);
});

test("there are as many limits as their own route allows, counted at the end of the file", async () => {
  const limits = Array.from({ length: LIMITS_MAX }, (_, at) => ({ ...LIMIT, name: `l${at}` }));
  const draft = { limits: [{ name: "new", subject: {}, measure: "requests", amount: 1, window: "day" }] };
  expect((await refusalOf(() => plan(draft, { limits }))).code).toBe("too_many_limits");
  expect(plan(draft, { limits }, true).result.kept.limits).toBe(0);
});

test("a plan that is asked twice makes the same rows", () => {
  const draft = {
    principals: [{ name: "alice" }],
    keys: [{ id: "ci", principal: "alice", secret: toText(1) }],
    limits: [{ name: "l", subject: { key: "ci" }, measure: "requests", amount: 1, window: "day" }],
  };
  const [first, second] = [plan(draft, {}), plan(draft, {})];
  expect(first).toEqual(second);
  expect(first.writes).toMatchObject([
    { kind: "create_principal", principal: { id: "principal-alice", createdAtUs: 7 } },
    { kind: "create_key", key: { id: "key-ci", principalId: "principal-alice", suffix: "0001" } },
    { kind: "create_limit", subjectId: "key-ci" },
  ]);
  expect(
    JSON.stringify(first.writes, (_, value) => (typeof value === "bigint" ? `${value}` : value)),
  ).not.toContain(toText(1));
});

test("a removal tells what goes with it and has no removal of its own, so that nothing goes unsaid", () => {
  const ann = { ...ADMIN, id: "2", name: "ann", role: "member" } as const;
  const key = { ...storedKey(1), principalId: ann.id, principalName: ann.name };
  const relayTokens = [{ id: "t1", principalId: ann.id, label: "" }];
  const toLimit = (name: string, subject: Limit["subject"]): Limit => ({ ...LIMIT, id: name, name, subject });
  const limits = [
    toLimit("of ann", { kind: "principal", id: ann.id, name: ann.name }),
    toLimit("of key", { kind: "key", id: key.id }),
    toLimit("of token", { kind: "relay_token", id: "t1" }),
    LIMIT,
  ];
  const current = { principals: [ADMIN, ann], keys: [key], relayTokens, limits };
  const along = (draft: Partial<PeopleDraft>) =>
    plan(draft, current, true).result.changes.flatMap(({ kind, name, along: told }) =>
      told === undefined || told === null ? [] : [[kind, name, told]],
    );
  const principals = [{ name: "admin", role: "admin" }];
  const all = { keys: ["k1"], relayTokens: ["t1"], limits: ["of ann", "of key", "of token"] };
  expect(along({ principals })).toEqual([["principal", "ann", all]]);
  expect(along({ keys: [] })).toEqual([["key", "k1", { keys: [], relayTokens: [], limits: ["of key"] }]]);
  expect(along({ principals, keys: [] })).toEqual([
    ["key", "k1", { keys: [], relayTokens: [], limits: ["of key"] }],
    ["principal", "ann", { keys: [], relayTokens: ["t1"], limits: ["of ann", "of token"] }],
  ]);
  expect(along({ principals, keys: [], limits: [] })).toEqual([
    ["principal", "ann", { keys: [], relayTokens: ["t1"], limits: [] }],
  ]);
  // The file still has the limit of a token that goes.
  const ofToken = {
    name: "of token",
    subject: { relay_token: "t1" },
    measure: "requests",
    amount: 5,
    window: "day",
  };
  const { skipped } = plan({ principals, keys: [], limits: [ofToken] }, current, true).result;
  expect(skipped).toEqual([{ kind: "limit", name: "of token", reason: "no_relay_token" }]);
});
