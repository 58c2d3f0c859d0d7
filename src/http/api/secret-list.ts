import { Type } from "@sinclair/typebox";
import { PAGE_QUERY, pageView } from "#http/door/paging.ts";
import type { QueryParam } from "#http/door/route.ts";
import { INSTANT } from "#http/schemas/examples.ts";
import type { Caller } from "#identity/caller.ts";
import type { Keys } from "#identity/keys.ts";
import type { KeyUse } from "#identity/key-use.ts";
import type { OwnedSecrets } from "#identity/owned-secret.ts";
import type { ListedSecret, OwnedSecret } from "#identity/secret.ts";
import type { SecretMaker } from "#identity/secret-maker.ts";
import { toTermSetter } from "#identity/secret-terms.ts";
import type { Principals } from "#identity/principals.ts";
import type { InstantUs } from "#kernel/clock.ts";
import { PAGE_LIMIT_MAX, parsePage } from "#kernel/page.ts";
import { withinLimit } from "#kernel/timer.ts";

export interface SecretDeps {
  readonly keys: Keys;
  readonly relayTokens: OwnedSecrets;
  readonly keyUse: KeyUse;
}

/** Codes that refuse what a relay token, or a key, is made with. */
export const TOKEN_TERM_ERRORS = ["invalid_label", "invalid_expiry", "invalid_tags"] as const;
export const KEY_TERM_ERRORS = ["invalid_label", "invalid_expiry", "invalid_models", "invalid_tags"] as const;

/** Every secret of one principal, as `toView` shows it. */
export async function listOwn<View>(
  secrets: OwnedSecrets,
  keyUse: KeyUse,
  {
    principalId,
    toView,
  }: { principalId: string; toView: (secret: OwnedSecret, lastUsedAtUs: InstantUs | null) => View },
): Promise<View[]> {
  const { rows } = await secrets.list({ principalId }, { limit: PAGE_LIMIT_MAX, offset: 0 });
  const lastUsed = await keyUse.lastUsed(rows.map(({ id }) => id));
  return rows.map((row) => toView(row, lastUsed.get(row.id) ?? null));
}

/** The parameters of `listOfAll`. */
export const OWNER_QUERY: readonly QueryParam[] = [
  ...PAGE_QUERY,
  { name: "principal", schema: Type.String(), description: "Only those of the principal with this name." },
];

/** A page of the secrets of one principal or of all, as `toView` shows them, and what the page says of itself. */
export async function listOfAll<View>(
  secrets: OwnedSecrets,
  { keyUse, principals }: { readonly keyUse: KeyUse; readonly principals: Principals },
  query: { readonly [name: string]: string | undefined },
  toView: (secret: ListedSecret, ownerName: string, lastUsedAtUs: InstantUs | null) => View,
): Promise<{ readonly views: View[]; readonly echo: ReturnType<typeof pageView> }> {
  const page = parsePage(query);
  const name = query["principal"] ?? "";
  const owner = name === "" ? null : await principals.findByName(name);
  // A filter without a match is an empty list, as everywhere.
  if (name !== "" && owner === null) return { views: [], echo: pageView(page, 0) };
  const { rows, total } = await secrets.list(owner === null ? {} : { principalId: owner.id }, page);
  const lastUsed = await keyUse.lastUsed(rows.map(({ id }) => id));
  const views = rows.map((row) => toView(row, row.principalName, lastUsed.get(row.id) ?? null));
  return { views, echo: pageView(page, total) };
}

interface TermsBody {
  readonly label?: string;
  readonly expires_at?: unknown;
  readonly enabled?: boolean;
  readonly tags?: unknown;
}

/** Whether a caller acts as an admin, and by which key. */
export function toMaker({ principal, credential }: Caller): SecretMaker {
  return { setter: toTermSetter(principal), key: credential.kind === "key" ? credential.key : null };
}

/** What a caller asks for, and as whom. */
export function toRelayTokenPatch({ label, expires_at, enabled, tags }: TermsBody, caller: Caller) {
  return { label, expiresAt: expires_at, enabled, tags, ...toMaker(caller) };
}

export function toKeyPatch(body: TermsBody & { readonly models?: unknown }, caller: Caller) {
  return { ...toRelayTokenPatch(body, caller), models: body.models };
}

export const ROTATED =
  "Its id, label, terms and usage stay. The secret of before works for `grace_seconds` more; the one before that ends at once.";

/** How long the answer to a change waits for the ledger to tell when the secret was last used. */
const LAST_USE_MS_MAX = 500;

/**
 * When a secret was last used, for the answer to a change of it; null as well when the ledger does not tell. The change is made
 * by then, and a new secret is told in this answer alone.
 */
export async function findLastUse(keyUse: KeyUse, id: string): Promise<InstantUs | null> {
  const asked = keyUse.lastUsed([id]).then(
    (found) => found.get(id) ?? null,
    () => null,
  );
  return await withinLimit(asked, LAST_USE_MS_MAX, () => null);
}

/** The example of a key or a relay token. */
export function toSecretExample(noun: "key" | "token", id: string, secret: string) {
  const label = noun === "key" ? "laptop" : "editor";
  return { id, [`${noun}_suffix`]: secret.slice(-4), label, created_at: INSTANT, last_used_at: null };
}
