import { useQuery } from "@tanstack/react-query";
import { useCallback, useMemo } from "react";
import { type Limit, LIMITS } from "../api/limits.ts";
import { type Column, countColumn, textColumn } from "../components/column.ts";
import { useToast } from "../components/toast.tsx";
import { LevelBadge, LimitMeter, Resets } from "../limits/limit-view.tsx";
import { type NameSecret, toAmountWords, toHeldWords, toWhomWords } from "../limits/limit-words.ts";
import { useSecretNames } from "../limits/secret-names.ts";
import { CreateLimit } from "./limits/limit-fields.tsx";
import { LimitPanel, nameUse } from "./limits/limit-panel.tsx";
import { ListPage, useListSearch } from "../lists/list-page.tsx";

/** How much may be used, by whom, and how close they are to it; the closest first. */
export function LimitsPage() {
  const { search } = useListSearch();
  const { notify } = useToast();
  const limits = useQuery(LIMITS.list());
  const rows = limits.data?.rows;
  const { name: nameSecret } = useSecretNames({
    keys: rows?.some(({ subject, each }) => subject.key !== undefined || each === "key") === true,
    relayTokens: rows?.some(({ subject }) => subject.relay_token !== undefined) === true,
  });
  const columns = useMemo(() => toColumns(nameSecret), [nameSecret]);
  const matches = useCallback(
    (limit: Limit, text: string) =>
      `${limit.name}\n${toWhomWords(limit, nameSecret)}\n${toAmountWords(limit)}`
        .toLowerCase()
        .includes(text),
    [nameSecret],
  );
  return (
    <ListPage
      title="Limits"
      lead="Budgets and rate limits. Use is counted from recorded requests; with several replicas, each counts the others’ requests within a second."
      noun="limit"
      caption="Limits"
      asked={[limits]}
      rows={rows}
      total={limits.data?.total}
      columns={columns}
      getRowId={({ id }) => id}
      rowLabel={({ name }) => `Details of ${name}`}
      sort={{ id: "used", descending: true }}
      find={{ label: "Find a limit", placeholder: "Name, person, tag or model", matches }}
      none={{
        icon: "limit",
        title: "No limits yet",
        body: "Limit the cost of a month, the requests of a minute or the concurrent requests of everyone, a person, a key, a tag or a model.",
      }}
      create={{
        label: "Create limit",
        first: "Create your first limit",
        isAsked: search.budget !== undefined,
        dialog: (close) => (
          <CreateLimit
            person={search.budget}
            onClose={() => close({ budget: undefined })}
            onCreated={(limit) => {
              notify({ title: `${limit.name} created`, body: toHeldWords(limit), tone: "good" });
              close({ budget: undefined, open: limit.id });
            }}
          />
        ),
      }}
      panel={(limit, close) => (
        <LimitPanel key={limit.id} limit={limit} nameSecret={nameSecret} onClose={close} />
      )}
    />
  );
}

function toColumns(nameSecret: NameSecret): readonly Column<Limit>[] {
  return [
    {
      id: "name",
      header: "Name",
      rowHeader: true,
      width: "w-42",
      sortValue: ({ name }) => name,
      cell: ({ name, enabled }) => (
        <span
          className={enabled ? "block truncate font-medium" : "block truncate font-medium text-ink-faint"}
          title={name}
        >
          {name}
        </span>
      ),
    },
    textColumn({
      id: "whom",
      header: "Applies to",
      width: "w-40",
      value: (limit) => toWhomWords(limit, nameSecret),
    }),
    {
      id: "limit",
      header: "Limit",
      width: "w-44",
      cell: (limit) => <span title={toAmountWords(limit)}>{toAmountWords(limit)}</span>,
    },
    {
      id: "used",
      header: "Used",
      headerTitle: "In the current window. A limit for each of several shows the highest use.",
      width: "w-40",
      descendingFirst: true,
      sortValue: ({ enabled, used, amount }) => (enabled ? used / amount : -1),
      cell: (limit) => (
        <LimitMeter limit={limit} of={limit.each === undefined ? undefined : toClosest(limit, nameSecret)} />
      ),
    },
    {
      id: "state",
      header: "State",
      width: "w-30",
      cell: (limit) => <LevelBadge limit={limit} />,
    },
    {
      id: "resets",
      header: "Resets",
      width: "w-24",
      sortValue: ({ resets_at: at }) => at,
      cell: (limit) => <Resets limit={limit} />,
    },
    countColumn({
      id: "refused",
      header: "Refused",
      headerTitle: "Requests since the server started",
      width: "w-20",
      value: ({ refused }) => refused,
    }),
  ];
}

/** Whose use is shown for a limit for each of several. */
function toClosest({ top }: Limit, nameSecret: NameSecret): string {
  const [first] = top ?? [];
  return first === undefined ? "no one" : nameUse(first, nameSecret);
}
