import { useQuery, useQueries } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { type Limit, limitsQuery, limitUseOfQuery, myLimitsQuery, type OwnLimit } from "../api/limits.ts";
import { toHeldLimits, toUsedBy } from "./held-limits.ts";
import { LimitItem, LimitList } from "./limit-list.tsx";

export interface SecretLimitsProps {
  readonly id: string;
  /** A key, and no relay token. */
  readonly isKey: boolean;
  /** What the key or relay token is called. */
  readonly name: string;
  /** The owner's name, where an admin looks at it; absent for one's own. */
  readonly owner: string | undefined;
}

/** The limits of one key or relay token: its own, and those that hold for each key. Nothing where there are none. */
export function SecretLimits(props: SecretLimitsProps) {
  return props.owner === undefined ? (
    <OwnLimits {...props} />
  ) : (
    <OwnedLimits {...props} owner={props.owner} />
  );
}

function OwnLimits({ id, isKey, name }: SecretLimitsProps) {
  const { data } = useQuery(myLimitsQuery());
  const limits = (data ?? [])
    .filter((limit) => isOfSecret(limit, { id, isKey }))
    .flatMap((limit) => (limit.each === "key" ? toOfKey(limit, id) : limit));
  return <Listed limits={limits} name={name} isLinked={false} />;
}

function OwnedLimits({ id, isKey, name, owner }: SecretLimitsProps & { readonly owner: string }) {
  const { data } = useQuery(limitsQuery());
  const holder = { name: owner, keyIds: [id], relayTokenIds: [id] };
  const limits = toHeldLimits(data?.rows ?? [], holder).filter((limit) => isOfSecret(limit, { id, isKey }));
  const uses = useQueries({
    queries: limits.map((limit) => ({
      ...limitUseOfQuery(limit.id, [id]),
      enabled: limit.each === "key",
    })),
  });
  const ofThis = limits.map((limit, index) =>
    limit.each === "key" ? toUsedBy(limit, uses[index]?.data?.used ?? 0) : limit,
  );
  return <Listed limits={ofThis} name={name} isLinked />;
}

/** Those of its owner are told where its owner is. */
function isOfSecret(
  { subject, each }: OwnLimit,
  { id, isKey }: Pick<SecretLimitsProps, "id" | "isKey">,
): boolean {
  return (isKey && each === "key") || subject.key === id || subject.relay_token === id;
}

/** The server tells so many of the caller's keys, the most used first. */
const TOP_MAX = 10;

/** Nothing where the use of this key is not told. */
function toOfKey(limit: OwnLimit, id: string): OwnLimit | readonly [] {
  const { top = [] } = limit;
  const use = top.find(({ key }) => key === id);
  return use === undefined && top.length >= TOP_MAX ? [] : toUsedBy(limit, use?.used ?? 0);
}

interface ListedProps {
  readonly limits: readonly (Limit | OwnLimit)[];
  readonly name: string;
  readonly isLinked: boolean;
}

function Listed({ limits, name, isLinked }: ListedProps) {
  if (limits.length === 0) return null;
  return (
    <section aria-labelledby="secret-limits" className="mt-5 border-t border-line pt-4">
      <h3 id="secret-limits" className="mb-2 text-xs font-medium">
        Limits
      </h3>
      <LimitList label={`Limits of ${name}`}>
        {limits.map((limit) => (
          <LimitItem
            key={limit.id}
            limit={limit}
            nameSecret={() => name}
            title={
              isLinked ? (
                <Link
                  to="/limits"
                  search={{ open: limit.id }}
                  className="text-accent underline-offset-2 hover:underline"
                >
                  {limit.name}
                </Link>
              ) : undefined
            }
          />
        ))}
      </LimitList>
    </section>
  );
}
