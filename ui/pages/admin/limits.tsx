import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { useMemo, useState } from "react";
import { type Limit, limitsQuery } from "../../api/limits.ts";
import { Button } from "../../components/button.tsx";
import { Card } from "../../components/card.tsx";
import { EmptyState, NotLoaded } from "../../components/empty.tsx";
import { ErrorNotice } from "../../components/error-notice.tsx";
import { GonePanel } from "../../components/panel.tsx";
import { PageHead } from "../../components/page-head.tsx";
import { TextField } from "../../components/text-field.tsx";
import { useToast } from "../../components/toast.tsx";
import { toAmountWords, toWhomWords } from "../../limits/limit-words.ts";
import { useSecretNames } from "../../limits/secret-names.ts";
import type { LimitsSearch } from "../../search/pages.ts";
import { CreateLimit } from "./limits/create-limit.tsx";
import { toHeldWords } from "./limits/limit-form.ts";
import { LimitPanel } from "./limits/limit-panel.tsx";
import { LimitTable } from "./limits/limit-table.tsx";

const route = getRouteApi("/shell/admin/limits");

/** How much may be used, by whom, and how close they are to it. */
export function LimitsPage() {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const change = (patch: LimitsSearch, replace = false) =>
    void navigate({ search: { ...search, ...patch }, replace, resetScroll: false });
  const { notify } = useToast();
  const limits = useQuery(limitsQuery());
  const [creating, setCreating] = useState(false);
  const rows = limits.data?.rows ?? NO_LIMITS;
  const { name: nameSecret } = useSecretNames({
    keys: rows.some(({ subject, each }) => subject.key !== undefined || each === "key"),
    relayTokens: rows.some(({ subject }) => subject.relay_token !== undefined),
  });
  const wanted = (search.q ?? "").trim().toLowerCase();
  const shown = useMemo(
    () =>
      rows.filter((limit) =>
        `${limit.name}\n${toWhomWords(limit, nameSecret)}\n${toAmountWords(limit)}`
          .toLowerCase()
          .includes(wanted),
      ),
    [rows, nameSecret, wanted],
  );
  const open = rows.find(({ id }) => id === search.open);

  return (
    <>
      <PageHead
        title="Limits"
        lead="How much may be used, by whom and in which time. What counts is what the reports hold; with several replicas each knows within a second what the others have let through, and what they have under way."
        actions={
          <Button variant="primary" icon="plus" onClick={() => setCreating(true)}>
            Make a limit
          </Button>
        }
      />
      {limits.error !== null && (
        <div className="mb-4">
          <ErrorNotice failure={limits.error} onRetry={() => void limits.refetch()} />
        </div>
      )}
      <TextField
        label="Find a limit"
        labelHidden
        type="search"
        icon="search"
        placeholder="Name, person, tag or model"
        isPageFilter
        className="mb-4 sm:max-w-xs"
        value={search.q ?? ""}
        onValueChange={(q) => change({ q: q === "" ? undefined : q }, true)}
      />
      <Card flush>
        <LimitTable
          limits={shown}
          nameSecret={nameSecret}
          busy={limits.isPending}
          openId={search.open}
          onOpen={(id) => change({ open: id })}
          empty={
            limits.data === undefined ? (
              <NotLoaded />
            ) : rows.length > 0 ? (
              <EmptyState icon="search" title="No limit matches" />
            ) : (
              <EmptyState
                icon="limit"
                title="No limits yet"
                body="Cap the cost of a month, the requests of a minute or what is under way at once: for everyone, a person, a key, a tag or a model."
                action={<Button onClick={() => setCreating(true)}>Make your first limit</Button>}
              />
            )
          }
        />
      </Card>
      {open !== undefined && (
        <LimitPanel
          key={open.id}
          limit={open}
          nameSecret={nameSecret}
          onClose={() => change({ open: undefined })}
        />
      )}
      {search.open !== undefined && open === undefined && limits.isSuccess && !limits.isFetching && (
        <GonePanel what="limit" onClose={() => change({ open: undefined })} />
      )}
      {(creating || search.budget !== undefined) && (
        <CreateLimit
          person={search.budget}
          onClose={() => {
            setCreating(false);
            change({ budget: undefined }, true);
          }}
          onCreated={(limit) => {
            setCreating(false);
            notify({ title: `${limit.name} made`, body: toHeldWords(limit), tone: "good" });
            change({ budget: undefined, open: limit.id });
          }}
        />
      )}
    </>
  );
}

const NO_LIMITS: readonly Limit[] = [];
