import { useQueries, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { limitsQuery, limitUseOfQuery } from "../../../api/limits.ts";
import { keysQuery, relayTokensQuery } from "../../../api/people.ts";
import { ErrorNotice } from "../../../components/error-notice.tsx";
import { SkeletonText } from "../../../components/skeleton.tsx";
import { toHeldLimits, toOwnNames, toUsedBy } from "../../../limits/held-limits.ts";
import { LimitItem, LimitList } from "../../../limits/limit-list.tsx";
import { useSecretNames } from "../../../limits/secret-names.ts";

const NAMED = { keys: true, relayTokens: true };

/** The limits that hold for a principal, with its own use of those that hold for each separately. */
export function PrincipalLimits({ name }: { readonly name: string }) {
  const limits = useQuery(limitsQuery());
  const keys = useQuery(keysQuery(name));
  const tokens = useQuery(relayTokensQuery(name));
  const { name: nameSecret } = useSecretNames(NAMED);
  const isPending = limits.isPending || keys.isPending || tokens.isPending;
  const holder = {
    name,
    keyIds: (keys.data?.rows ?? []).map(({ id }) => id),
    relayTokenIds: (tokens.data?.rows ?? []).map(({ id }) => id),
  };
  const held = isPending ? [] : toHeldLimits(limits.data?.rows ?? [], holder);
  const uses = useQueries({
    queries: held.map((limit) => ({
      ...limitUseOfQuery(limit.id, toOwnNames(limit, holder)),
      enabled: limit.each !== undefined,
    })),
  });
  if (limits.error !== null) return <ErrorNotice compact failure={limits.error} />;
  if (isPending) return <SkeletonText lines={2} />;
  if (held.length === 0) return <p className="text-ink-soft">No limit holds for them.</p>;
  return (
    <LimitList label={`Limits of ${name}`}>
      {held.map((limit, index) => (
        <LimitItem
          key={limit.id}
          limit={limit.each === undefined ? limit : toUsedBy(limit, uses[index]?.data?.used ?? 0)}
          nameSecret={nameSecret}
          title={
            <Link
              to="/limits"
              search={{ open: limit.id }}
              className="text-accent underline-offset-2 hover:underline"
            >
              {limit.name}
            </Link>
          }
        />
      ))}
    </LimitList>
  );
}
