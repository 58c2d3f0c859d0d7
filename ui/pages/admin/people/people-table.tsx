import type { ReactNode } from "react";
import { Badge } from "../../../components/chip.tsx";
import { Instant } from "../../../components/instant.tsx";
import { agoColumn, type Column, costColumn, countColumn } from "../../../components/column.ts";
import { DataTable } from "../../../components/table.tsx";
import { FixedTagBadges } from "../../../secrets/fixed-tags.tsx";
import type { Person } from "./people-list.ts";

export interface PeopleTableProps {
  readonly people: readonly Person[];
  readonly busy: boolean;
  readonly openId: string | undefined;
  readonly onOpen: (id: string) => void;
  readonly empty: ReactNode;
}

/** Who may call, with what, and what it cost lately. */
export function PeopleTable({ people, busy, openId, onOpen, empty }: PeopleTableProps) {
  return (
    <DataTable
      caption="People and services"
      columns={COLUMNS}
      rows={people}
      hasFixedColumns
      getRowId={toId}
      sort={{ id: "name", descending: false }}
      busy={busy}
      skeletonRows={6}
      onRowActivate={({ id }) => onOpen(id)}
      rowLabel={({ name }) => `Details of ${name}`}
      activeRowId={openId ?? null}
      empty={empty}
    />
  );
}

const COLUMNS: readonly Column<Person>[] = [
  {
    id: "name",
    header: "Name",
    rowHeader: true,
    wrap: true,
    width: "w-64",
    sortValue: ({ name }) => name,
    cell: ({ name, isEnabled, tags }) => (
      <>
        <span className="flex min-w-0 items-center gap-2">
          <span className="truncate font-medium" title={name}>
            {name}
          </span>
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
    id: "kind",
    header: "Kind",
    width: "w-24",
    sortValue: ({ kind }) => kind,
    cell: ({ kind }) => kind,
  },
  {
    id: "role",
    header: "Role",
    width: "w-24",
    sortValue: ({ role }) => role,
    cell: ({ role }) => (role === "admin" ? <Badge tone="accent">admin</Badge> : role),
  },
  countColumn({
    id: "keys",
    header: "Keys",
    width: "w-20",
    value: ({ keyCount }) => keyCount,
  }),
  countColumn({
    id: "tokens",
    header: "Tokens",
    headerTitle: "Relay tokens",
    width: "w-20",
    value: ({ tokenCount }) => tokenCount,
  }),
  agoColumn({
    id: "used",
    header: "Last used",
    headerTitle: "The last use of a key or a relay token, noted at most once a minute",
    width: "w-30",
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
    width: "w-30",
    descendingFirst: true,
    sortValue: ({ createdAt }) => createdAt,
    cell: ({ createdAt }) => <Instant value={createdAt} format="date" />,
  },
];

function toId({ id }: Person): string {
  return id;
}
