import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { useMemo, useState } from "react";
import { keysQuery, principalsQuery, relayTokensQuery } from "../../api/people.ts";
import { usageByPrincipalQuery } from "../../api/reports.ts";
import { useMe } from "../../api/session.ts";
import { Button } from "../../components/button.tsx";
import { Card } from "../../components/card.tsx";
import { EmptyState, NotLoaded } from "../../components/empty.tsx";
import { ErrorNotice } from "../../components/error-notice.tsx";
import { GonePanel } from "../../components/panel.tsx";
import { PageHead } from "../../components/page-head.tsx";
import { Tabs } from "../../components/tabs.tsx";
import { TextField } from "../../components/text-field.tsx";
import { useToast } from "../../components/toast.tsx";
import { useMinute } from "../../search/now.ts";
import type { PeopleSearch } from "../../search/pages.ts";
import { toTimeWindow } from "../../search/window.ts";
import { CreatePrincipal } from "./people/create-principal.tsx";
import { OwnedKeys, OwnedRelayTokens } from "./people/owned-secrets.tsx";
import { matchesPerson, toPeople, type Person } from "./people/people-list.ts";
import { PeopleTable } from "./people/people-table.tsx";
import { PrincipalPanel } from "./people/principal-panel.tsx";

const route = getRouteApi("/shell/admin/people");

/** Who may call, and every key and relay token there is. */
export function PeoplePage() {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const change = (patch: PeopleSearch, replace = false) =>
    void navigate({ search: { ...search, ...patch }, replace, resetScroll: false });
  const me = useMe();
  const { notify } = useToast();
  const { since } = toTimeWindow({}, "30d", useMinute());
  const principals = useQuery(principalsQuery());
  const keys = useQuery(keysQuery());
  const tokens = useQuery(relayTokensQuery());
  const usage = useQuery(usageByPrincipalQuery({ since }));
  const [creating, setCreating] = useState(false);

  const people = useMemo(
    () =>
      toPeople({
        principals: principals.data?.rows ?? [],
        keys: keys.data?.rows ?? [],
        tokens: tokens.data?.rows ?? [],
        usage: usage.data?.usage ?? [],
      }),
    [principals.data, keys.data, tokens.data, usage.data],
  );
  const shown = useMemo(() => people.filter((person) => matchesPerson(person, search.q)), [people, search.q]);
  const open = people.find(({ id }) => id === search.open);
  // Until all of it is known: whose usage is on its way has not used nothing.
  const isPending = [principals, keys, tokens, usage].some((asked) => asked.isPending);
  const failed = [principals, keys, tokens, usage].find(({ error }) => error !== null);

  return (
    <>
      <PageHead
        title="People & keys"
        lead="People and services that can call models, with their keys. A secret is shown once, when it is created; only its hash is kept."
        actions={
          <Button variant="primary" icon="plus" onClick={() => setCreating(true)}>
            Add person or service
          </Button>
        }
      />
      {failed !== undefined && failed.error !== null && (
        <div className="mb-4">
          <ErrorNotice failure={failed.error} onRetry={() => void failed.refetch()} />
        </div>
      )}
      <div role="search" aria-label="Filters" className="mb-4">
        <TextField
          label="Find"
          labelHidden
          type="search"
          icon="search"
          placeholder="Name, label or last characters"
          className="w-full sm:w-72"
          isPageFilter
          value={search.q ?? ""}
          onValueChange={(q) => change({ q: q === "" ? undefined : q }, true)}
        />
      </div>
      <Tabs
        label="List"
        value={search.tab ?? "people"}
        onValueChange={(tab) => change({ tab: tab === "people" ? undefined : tab })}
        tabs={[
          {
            id: "people",
            label: "People and services",
            content: (
              <Card flush>
                <PeopleTable
                  people={isPending ? NO_PEOPLE : shown}
                  busy={isPending}
                  openId={search.open}
                  onOpen={(id) => change({ open: id })}
                  empty={
                    principals.data === undefined ? (
                      <NotLoaded />
                    ) : (
                      <EmptyState icon="search" title="No person or service matches" />
                    )
                  }
                />
              </Card>
            ),
          },
          {
            id: "keys",
            label: "All keys",
            content: (
              <Card flush>
                <OwnedKeys
                  query={search.q}
                  empty={
                    <EmptyState
                      icon="key"
                      title="No keys yet"
                      body="Open a person or a service and create one, or let people create their own under My keys."
                    />
                  }
                />
              </Card>
            ),
          },
          {
            id: "relay-tokens",
            label: "All relay tokens",
            content: (
              <Card flush>
                <OwnedRelayTokens
                  query={search.q}
                  empty={
                    <EmptyState
                      icon="token"
                      title="No relay tokens yet"
                      body="People create their own under Relay tokens."
                    />
                  }
                />
              </Card>
            ),
          },
        ]}
      />
      {!isPending && open !== undefined && (
        <PrincipalPanel
          key={open.id}
          person={open}
          isSelf={open.name === me.name}
          onClose={() => change({ open: undefined })}
        />
      )}
      {search.open !== undefined && open === undefined && principals.isSuccess && !principals.isFetching && (
        <GonePanel what="person or service" onClose={() => change({ open: undefined })} />
      )}
      {creating && (
        <CreatePrincipal
          onClose={() => setCreating(false)}
          onCreated={({ id, name }) => {
            setCreating(false);
            notify({ title: `${name} added`, body: "Create a key for them next.", tone: "good" });
            change({ open: id });
          }}
        />
      )}
    </>
  );
}

const NO_PEOPLE: readonly Person[] = [];
