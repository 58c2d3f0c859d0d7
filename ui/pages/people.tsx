import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import {
  ALL_KEYS,
  ALL_RELAY_TOKENS,
  type OwnedKey,
  type OwnedRelayToken,
  type Principal,
  PRINCIPALS,
} from "../api/people.ts";
import { usageByPrincipalQuery } from "../api/reports.ts";
import { useMe } from "../api/session.ts";
import { Card } from "../components/card.tsx";
import { Badge } from "../components/chip.tsx";
import { agoColumn, type Column, costColumn, countColumn } from "../components/column.ts";
import { EmptyState } from "../components/empty.tsx";
import { Instant } from "../components/instant.tsx";
import { Tabs } from "../components/tabs.tsx";
import { useMinute } from "../search/now.ts";
import { toTimeWindow } from "../search/window.ts";
import { KEY, RELAY_TOKEN } from "../secrets/secret-kind.ts";
import { SecretList, type SecretListProps } from "../secrets/secret-list.tsx";
import { FixedTagBadges } from "../secrets/secret-terms.tsx";
import { ListPage, useListSearch } from "../lists/list-page.tsx";
import { CreatePrincipal } from "./people/person-panel.tsx";
import { PersonPanel } from "./people/person-panel.tsx";

/** Who may call, and every key and relay token there is. */
export function PeoplePage() {
  const { search, change } = useListSearch();
  const me = useMe();
  const { since } = toTimeWindow({}, "30d", useMinute());
  const principals = useQuery(PRINCIPALS.list());
  const keys = useQuery(ALL_KEYS.list());
  const tokens = useQuery(ALL_RELAY_TOKENS.list());
  const usage = useQuery(usageByPrincipalQuery({ since }));
  const asked = [principals, keys, tokens, usage] as const;
  // Until all of it is known: usage that is on its way is not zero.
  const isPending = asked.some((one) => one.isPending);
  const people = useMemo(
    () =>
      isPending || principals.data === undefined
        ? undefined
        : toPeople({
            principals: principals.data.rows,
            keys: keys.data?.rows ?? [],
            tokens: tokens.data?.rows ?? [],
            usage: usage.data?.usage ?? [],
          }),
    [isPending, principals.data, keys.data, tokens.data, usage.data],
  );
  return (
    <ListPage
      title="People & keys"
      lead="Who can call models, with their keys. A secret is shown once: only its hash is kept."
      noun="person or service"
      caption="People and services"
      asked={asked}
      rows={people}
      total={principals.data?.total}
      busy={isPending}
      skeletonRows={6}
      columns={COLUMNS}
      getRowId={({ id }) => id}
      rowLabel={({ name }) => `Details of ${name}`}
      sort={{ id: "name", descending: false }}
      find={{ label: "Find", placeholder: "Name, label or last characters", matches: matchesPerson }}
      none={{ icon: "people", title: "No people or services yet" }}
      create={{
        label: "Add person or service",
        first: "Add the first",
        dialog: (close) => <CreatePrincipal onClose={close} onCreated={({ id }) => close({ open: id })} />,
      }}
      panel={(person, close) => (
        <PersonPanel key={person.id} person={person} isSelf={person.name === me.name} onClose={close} />
      )}
      around={(list) => (
        <Tabs
          label="List"
          value={search.tab ?? "people"}
          onValueChange={(tab) => change({ tab: tab === "people" ? undefined : tab })}
          tabs={[
            { id: "people", label: "People and services", content: list },
            toSecretsTab("keys", {
              kind: KEY,
              answer: keys,
              query: search.q,
              none: "Open a person or a service and create one, or let people create their own under My keys.",
            }),
            toSecretsTab("relay-tokens", {
              kind: RELAY_TOKEN,
              answer: tokens,
              query: search.q,
              none: "People create their own under Relay tokens.",
            }),
          ]}
        />
      )}
    />
  );
}

interface SecretsTab extends Pick<SecretListProps, "kind" | "answer" | "query"> {
  /** Where the first one comes from. */
  readonly none: string;
}

/** Every key, or every relay token, found by the same text as people. */
function toSecretsTab<const Id extends string>(id: Id, { none, ...list }: SecretsTab) {
  const { noun, icon } = list.kind;
  const empty =
    list.query === undefined ? (
      <EmptyState icon={icon} title={`No ${noun}s yet`} body={none} />
    ) : (
      <EmptyState icon="search" title={`No ${noun} matches`} />
    );
  const label = `All ${noun}s`;
  const content = (
    <Card flush>
      <SecretList {...list} caption={label} layout="all" empty={empty} />
    </Card>
  );
  return { id, label, content };
}

/** One row of a report that tells principals apart. */
interface CostRow {
  readonly principal: string;
  readonly cost: number | null;
  readonly requests: number;
}

/** A principal with what is told of it elsewhere. */
export interface Person {
  readonly id: string;
  readonly name: string;
  readonly kind: Principal["kind"];
  readonly role: Principal["role"];
  readonly isEnabled: boolean;
  /** As the server told it: what a change is made from. */
  readonly stored: Principal;
  /** Fixed tags, on all of its usage. */
  readonly tags: readonly string[];
  readonly createdAt: string;
  readonly keyCount: number;
  readonly tokenCount: number;
  /** When a key or a relay token of theirs was used last; the browser leaves no such mark. */
  readonly lastUsedAt: string | null;
  readonly requests: number;
  /** Null: they used nothing, or nothing of it had a price. */
  readonly cost: number | null;
  /** Some of it had no price. */
  readonly isCostPartial: boolean;
}

interface PeopleSources {
  readonly principals: readonly Principal[];
  readonly keys: readonly OwnedKey[];
  readonly tokens: readonly OwnedRelayToken[];
  /** Usage of the last 30 days. */
  readonly usage: readonly CostRow[];
}

/** All principals, in the order of `principals`. */
function toPeople({ principals, keys, tokens, usage }: PeopleSources): readonly Person[] {
  const keysOf = Map.groupBy(keys, ({ principal }) => principal);
  const tokensOf = Map.groupBy(tokens, ({ principal }) => principal);
  const usageOf = Map.groupBy(usage, ({ principal }) => principal);
  return principals.map((stored) => {
    const { id, name, kind, role, enabled, tags = [], created_at: createdAt } = stored;
    const ownKeys = keysOf.get(name) ?? [];
    const ownTokens = tokensOf.get(name) ?? [];
    const used = usageOf.get(name) ?? [];
    const costs = used.flatMap(({ cost }) => cost ?? []);
    return {
      stored,
      id,
      name,
      kind,
      role,
      isEnabled: enabled !== false,
      tags,
      createdAt,
      keyCount: ownKeys.length,
      tokenCount: ownTokens.length,
      lastUsedAt: toLatest([...ownKeys, ...ownTokens]),
      requests: used.reduce((sum, { requests }) => sum + requests, 0),
      cost: costs.length === 0 ? null : costs.reduce((sum, cost) => sum + cost, 0),
      isCostPartial: costs.length > 0 && costs.length < used.length,
    };
  });
}

function matchesPerson({ name, kind, role, tags }: Person, wanted: string): boolean {
  if (wanted === "") return true;
  return name.includes(wanted) || kind === wanted || role === wanted || tags.includes(wanted);
}

function toLatest(secrets: readonly { readonly last_used_at: string | null }[]): string | null {
  const used = secrets.flatMap(({ last_used_at: at }) => at ?? []);
  return used.length === 0 ? null : used.reduce((left, right) => (left > right ? left : right));
}

const COLUMNS: readonly Column<Person>[] = [
  {
    id: "name",
    header: "Name",
    rowHeader: true,
    wrap: true,
    width: "w-38",
    sortValue: ({ name }) => name,
    cell: ({ name, kind, isEnabled, tags }) => (
      <>
        <span className="flex min-w-0 flex-wrap items-center gap-x-2 gap-y-0.5">
          <span className="truncate font-medium" title={name}>
            {name}
          </span>
          {kind === "service" && <Badge>service</Badge>}
          {!isEnabled && <Badge tone="warn">disabled</Badge>}
        </span>
        {tags.length > 0 && (
          <span className="mt-1 flex flex-wrap gap-1">
            <FixedTagBadges tags={tags} />
          </span>
        )}
      </>
    ),
  },
  {
    id: "role",
    header: "Role",
    width: "w-20",
    sortValue: ({ role }) => role,
    cell: ({ role }) => (role === "admin" ? <Badge tone="accent">admin</Badge> : role),
  },
  countColumn({
    id: "keys",
    header: "Keys",
    width: "w-18",
    value: ({ keyCount }) => keyCount,
  }),
  countColumn({
    id: "tokens",
    header: "Tokens",
    headerTitle: "Relay tokens",
    width: "w-18",
    value: ({ tokenCount }) => tokenCount,
  }),
  agoColumn({
    id: "used",
    header: "Last used",
    headerTitle: "The last use of a key or a relay token, noted at most once a minute",
    width: "w-27",
    value: ({ lastUsedAt }) => lastUsedAt,
  }),
  costColumn({
    id: "cost",
    header: "Cost, 30 days",
    width: "w-30",
    value: ({ cost, requests, isCostPartial }) => ({
      value: cost,
      unpriced: isCostPartial,
      used: requests > 0,
    }),
  }),
  {
    id: "created",
    header: "Created",
    width: "w-28",
    descendingFirst: true,
    sortValue: ({ createdAt }) => createdAt,
    cell: ({ createdAt }) => <Instant value={createdAt} format="date" />,
  },
];
