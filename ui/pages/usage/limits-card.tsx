import { useQuery } from "@tanstack/react-query";
import type { OwnLimit } from "../../api/limits.ts";
import { myKeysQuery, myRelayTokensQuery } from "../../api/my.ts";
import { Card } from "../../components/card.tsx";
import { LimitItem, LimitList } from "../../limits/limit-list.tsx";
import { toOwnName, toUnknownName } from "../../limits/secret-names.ts";

/** What is left of the limits that hold for who is signed in. */
export function LimitsCard({ limits }: { readonly limits: readonly OwnLimit[] }) {
  const keys = useQuery({
    ...myKeysQuery(),
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
      <LimitList label="My limits">
        {limits.map((limit) => (
          <LimitItem key={limit.id} limit={limit} nameSecret={(id) => names.get(id) ?? toUnknownName(id)} />
        ))}
      </LimitList>
    </Card>
  );
}
