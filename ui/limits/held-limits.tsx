import { useQueries, useQuery } from "@tanstack/react-query";
import { type Limit, LIMITS, limitUseOfQuery, myLimitsQuery, type OwnLimit } from "../api/limits.ts";
import { ALL_KEYS, ALL_RELAY_TOKENS, MY_KEYS, myRelayTokensQuery, PRINCIPALS } from "../api/people.ts";
import { Card } from "../components/card.tsx";
import { ErrorNotice } from "../components/error-notice.tsx";
import { SkeletonText } from "../components/skeleton.tsx";
import { LimitList } from "./limit-view.tsx";
import { toOwnName, toUnknownName, useSecretNames } from "./secret-names.ts";

/** The limits that a person, a key or a relay token meets, each with its own use of it. */

/** Who is asked about, with the ids of what they hold. */
export interface LimitHolder {
  readonly name: string;
  readonly keyIds: readonly string[];
  readonly relayTokenIds: readonly string[];
  /** The pairs that are fixed on them. */
  readonly fixedTags: readonly string[];
}

/**
 * The limits that hold for every request of a principal, or for every one with one of its secrets, as `/my/limits` lists
 * them. Those of a tag that is not fixed hold for single requests: they are not among them.
 */
export function toHeldLimits(limits: readonly Limit[], holder: LimitHolder): readonly Limit[] {
  return limits.filter((limit) => limit.enabled && isAbout(limit, holder));
}

function isAbout({ subject, each }: Limit, holder: LimitHolder): boolean {
  const { name, keyIds, relayTokenIds, fixedTags } = holder;
  if (each !== undefined && isOfTag(each) && listValues(each, holder).length === 0) return false;
  if (subject.tag !== undefined) return fixedTags.includes(subject.tag);
  if (subject.principal !== undefined) return subject.principal === name;
  if (subject.key !== undefined) return keyIds.includes(subject.key);
  if (subject.relay_token !== undefined) return relayTokenIds.includes(subject.relay_token);
  return true;
}

function isOfTag(each: string): boolean {
  return each.startsWith(OF_TAG);
}

/** What of the holder a limit counts apart. */
function listValues(each: string, { name, keyIds, fixedTags }: LimitHolder): readonly string[] {
  if (isOfTag(each)) return fixedTags.filter((pair) => pair.startsWith(`${each.slice(OF_TAG.length)}:`));
  return each === "key" ? keyIds : [name];
}

const OF_TAG = "tag:";

/** A limit for each of several, with the use of one instead of the highest. */
function toUsedBy<Told extends OwnLimit>(limit: Told, used: number): Told {
  return { ...limit, used, left: Math.max(0, limit.amount - used) };
}

/** Asks what the holder itself used of each limit that counts several apart: null until all of it is there. */
function useOwnUse(limits: readonly Limit[], holder: LimitHolder): readonly Limit[] | null {
  const uses = useQueries({
    queries: limits.map(({ id, each }) => ({
      ...limitUseOfQuery(id, each === undefined ? [] : listValues(each, holder)),
      enabled: each !== undefined,
    })),
  });
  if (uses.some(({ isLoading }) => isLoading)) return null;
  return limits.flatMap((limit, index) => {
    const use = uses[index]?.data;
    if (limit.each === undefined) return limit;
    return use === undefined ? [] : toUsedBy(limit, use?.used ?? 0);
  });
}

/** The limits of who is signed in. */
export function MyLimits({ limits }: { readonly limits: readonly OwnLimit[] }) {
  const keys = useQuery({
    ...MY_KEYS.list(),
    enabled: limits.some(({ subject }) => subject.key !== undefined),
  });
  const tokens = useQuery({
    ...myRelayTokensQuery(),
    enabled: limits.some(({ subject }) => subject.relay_token !== undefined),
  });
  const names = new Map([
    ...(keys.data?.rows ?? []).map(
      ({ id, label, key_suffix: suffix }) => [id, toOwnName({ label, suffix })] as const,
    ),
    ...(tokens.data?.rows ?? []).map(
      ({ id, label, token_suffix: suffix }) => [id, toOwnName({ label, suffix })] as const,
    ),
  ]);
  return (
    <Card title="My limits" className="mb-4">
      <LimitList label="My limits" limits={limits} nameSecret={(id) => names.get(id) ?? toUnknownName(id)} />
    </Card>
  );
}

/** The limits of a principal, for an admin. */
export function PrincipalLimits({ name }: { readonly name: string }) {
  const limits = useQuery(LIMITS.list());
  const keys = useQuery(ALL_KEYS.list({ principal: name }));
  const tokens = useQuery(ALL_RELAY_TOKENS.list({ principal: name }));
  const { name: nameSecret } = useSecretNames(NAMED);
  const people = useQuery(PRINCIPALS.list());
  const isPending = limits.isPending || keys.isPending || tokens.isPending || people.isPending;
  const [ownKeys, ownTokens] = [keys.data?.rows ?? [], tokens.data?.rows ?? []];
  const tagged = [...(people.data?.rows ?? []).filter((one) => one.name === name), ...ownKeys, ...ownTokens];
  const holder = {
    name,
    keyIds: ownKeys.map(({ id }) => id),
    relayTokenIds: ownTokens.map(({ id }) => id),
    fixedTags: tagged.flatMap(({ tags }) => tags ?? []),
  };
  const held = useOwnUse(isPending ? [] : toHeldLimits(limits.data?.rows ?? [], holder), holder);
  if (limits.error !== null) return <ErrorNotice compact failure={limits.error} />;
  if (isPending || held === null) return <SkeletonText lines={2} />;
  if (held.length === 0) return <p className="text-ink-soft">No limit applies to them.</p>;
  return <LimitList label={`Limits of ${name}`} limits={held} nameSecret={nameSecret} isLinked />;
}

const NAMED = { keys: true, relayTokens: true };

export interface SecretLimitsProps {
  readonly id: string;
  /** A key, and no relay token. */
  readonly isKey: boolean;
  /** What the key or relay token is called. */
  readonly name: string;
  /** The owner's name, where an admin looks at it; absent for one's own. */
  readonly owner: string | undefined;
}

/** The limits of one key or relay token: its own, and those for each key. Nothing where there are none. */
export function SecretLimits({ owner, ...secret }: SecretLimitsProps) {
  return owner === undefined ? <OwnSecretLimits {...secret} /> : <OwnedLimits {...secret} owner={owner} />;
}

type SecretProps = Omit<SecretLimitsProps, "owner">;

function OwnSecretLimits(secret: SecretProps) {
  const { data } = useQuery(myLimitsQuery());
  const limits = (data ?? [])
    .filter((limit) => isOfSecret(limit, secret))
    .flatMap((limit) => (limit.each === "key" ? toOfKey(limit, secret.id) : limit));
  return <ListedLimits limits={limits} name={secret.name} isLinked={false} />;
}

function OwnedLimits({ owner, ...secret }: SecretProps & { readonly owner: string }) {
  const { data } = useQuery(LIMITS.list());
  const holder = { name: owner, keyIds: [secret.id], relayTokenIds: [secret.id], fixedTags: [] };
  const held = toHeldLimits(data?.rows ?? [], holder).filter((limit) => isOfSecret(limit, secret));
  return <ListedLimits limits={useOwnUse(held, holder) ?? []} name={secret.name} isLinked />;
}

/** The limits of its owner stand in the panel of its owner. */
function isOfSecret({ subject, each }: OwnLimit, { id, isKey }: SecretProps): boolean {
  return (isKey && each === "key") || subject.key === id || subject.relay_token === id;
}

/** The server answers so many of the caller's keys, the most used first. */
const TOP_MAX = 10;

/** Nothing where the use of this key is not known. */
function toOfKey(limit: OwnLimit, id: string): OwnLimit | readonly [] {
  const { top = [] } = limit;
  const use = top.find(({ key }) => key === id);
  return use === undefined && top.length >= TOP_MAX ? [] : toUsedBy(limit, use?.used ?? 0);
}

interface ListedLimitsProps {
  readonly limits: readonly OwnLimit[];
  readonly name: string;
  readonly isLinked: boolean;
}

function ListedLimits({ limits, name, isLinked }: ListedLimitsProps) {
  if (limits.length === 0) return null;
  return (
    <section aria-labelledby="secret-limits" className="mt-5 border-t border-line pt-4">
      <h3 id="secret-limits" className="mb-2 text-xs font-medium">
        Limits
      </h3>
      <LimitList label={`Limits of ${name}`} limits={limits} nameSecret={() => name} isLinked={isLinked} />
    </section>
  );
}
