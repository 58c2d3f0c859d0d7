import { useMutation, useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { revokeSessions } from "../api/people.ts";
import { useMe } from "../api/session.ts";
import {
  type InstallationSettings,
  mySessionsQuery,
  type OwnSession,
  revokeOtherSessions,
  settingsQuery,
} from "../api/session.ts";
import { Button } from "../components/button.tsx";
import { Card } from "../components/card.tsx";
import { Badge } from "../components/chip.tsx";
import { EmptyState } from "../components/empty.tsx";
import { EntityLink } from "../components/entity-link.tsx";
import { ErrorNotice } from "../components/error-notice.tsx";
import { Instant, useNow } from "../components/instant.tsx";
import { PageHead } from "../components/page-head.tsx";
import { Segmented } from "../components/segmented.tsx";
import { TableSkeleton } from "../components/skeleton.tsx";
import { useToast } from "../components/toast.tsx";
import { formatBytes, formatCount, formatDuration } from "../text/format.ts";
import { chooseTimeZone, formatInZone, TIME_ZONES, toZoneName, useTimeZone } from "../text/time-zone.ts";

/** What this browser shows, where one is signed in, and for admins what runs here. */
export function SettingsPage() {
  const { role } = useMe();
  return (
    <>
      <PageHead title="Settings" />
      <div className="flex max-w-4xl flex-col gap-4">
        <DisplayCard />
        <SessionsCard />
        {role === "admin" && <InstallationCards />}
      </div>
    </>
  );
}

/** How this browser shows instants. */
function DisplayCard() {
  const zone = useTimeZone();
  const now = new Date(useNow());
  const iso = now.toISOString();
  const labels = { utc: "UTC", local: `Local (${toZoneName(now)})` };
  return (
    <Card
      title="Times"
      lead="Of lists and details in this browser. Windows, charts and exports are always in UTC."
    >
      <div className="flex flex-wrap items-center gap-x-4 gap-y-2">
        <Segmented
          label="Time zone"
          options={TIME_ZONES.map((value) => ({ value, label: labels[value] }))}
          value={zone}
          onValueChange={chooseTimeZone}
        />
        <span className="text-ink-soft">Now: {formatInZone(iso, "minute", zone)}</span>
      </div>
    </Card>
  );
}

/** Browsers in which one is signed in. */
function SessionsCard() {
  const sessions = useQuery(mySessionsQuery());
  const { notify } = useToast();
  const revoke = useMutation({
    ...revokeOtherSessions,
    onSuccess: (revoked) => notify({ title: toEndedText(revoked), tone: "good" }),
  });
  const rows = sessions.data ?? [];
  const hasOthers = rows.some(({ current }) => !current);
  return (
    <Card
      flush
      title="My sessions"
      lead="Browsers in which you are signed in. Keys and relay tokens are not sessions and go on."
      actions={
        hasOthers && (
          <Button size="sm" icon="sign-out" busy={revoke.isPending} onClick={() => revoke.mutate()}>
            End the others
          </Button>
        )
      }
    >
      {[sessions, revoke].map(
        ({ error }, index) =>
          error !== null && (
            <div key={index} className="px-4 pb-4">
              <ErrorNotice failure={error} onRetry={() => void sessions.refetch()} />
            </div>
          ),
      )}
      {sessions.isPending && <TableSkeleton rows={1} />}
      {sessions.data?.length === 0 && <EmptyState title="No session" body="You are signed in by a key" />}
      <ul>
        {rows.map((session, index) => (
          <SessionLine key={index} session={session} />
        ))}
      </ul>
    </Card>
  );
}

function SessionLine({ session }: { readonly session: OwnSession }) {
  return (
    <li className="flex flex-wrap items-baseline gap-x-6 gap-y-1 border-t border-line px-4 py-2.5">
      <span className="w-36 font-medium">
        {session.current ? <Badge tone="accent">This browser</Badge> : "Another browser"}
      </span>
      <span className="w-28 text-ink-soft">
        Seen <Instant value={session.last_seen_at} format="relative" />
      </span>
      <span className="text-ink-soft">
        Ends <Instant value={session.expires_at} format="minute" />
      </span>
    </li>
  );
}

/** What runs here and who is signed in, for admins. Settings are those of the server's start. */
function InstallationCards() {
  const { data, error, refetch } = useQuery(settingsQuery());
  if (error !== null && data === undefined) {
    return <ErrorNotice failure={error} onRetry={() => void refetch()} />;
  }
  return (
    <>
      <Card title="This server" lead="Set by PROXY_* variables at its start">
        {data === undefined ? <TableSkeleton rows={5} /> : <Facts settings={data} />}
      </Card>
      <Card flush title="Signed in" lead="People with a session in a browser">
        {data === undefined ? <TableSkeleton rows={2} /> : <SignedIn sessions={data.sessions} />}
      </Card>
    </>
  );
}

function Facts({ settings }: { readonly settings: InstallationSettings }) {
  const { storage, usage_retention_days: days } = settings;
  const onOff = (is: boolean) => (is ? "On" : "Off");
  return (
    <dl className="grid gap-x-8 gap-y-3 sm:grid-cols-2">
      <Fact name="Version">
        Lockport {settings.version}
        {settings.commit === null ? ", from source" : `, commit ${settings.commit}`}
      </Fact>
      <Fact name="Interface">{settings.interface_version}</Fact>
      <Fact name="Requests and usage">{formatBytes(storage.usage_bytes)}</Fact>
      <Fact name="Catalog">{formatBytes(storage.catalog_bytes)}</Fact>
      <Fact name="Journal">{formatBytes(storage.journal_bytes)}</Fact>
      <Fact name="Single requests are kept">{days === null ? "For ever" : `${formatCount(days)} days`}</Fact>
      <Fact name="Single sign-on">{onOff(settings.sso_enabled)}</Fact>
      <Fact name="Sign-in by password">{onOff(settings.password_enabled)}</Fact>
      <Fact name="A session lasts">{formatDuration(settings.session_ttl_seconds * 1000)}</Fact>
    </dl>
  );
}

function Fact({ name, children }: { readonly name: string; readonly children: ReactNode }) {
  return (
    <div className="min-w-0">
      <dt className="text-xs text-ink-soft">{name}</dt>
      <dd className="break-words">{children}</dd>
    </div>
  );
}

type SignedInRow = InstallationSettings["sessions"][number];

function SignedIn({ sessions }: { readonly sessions: readonly SignedInRow[] }) {
  const { notify } = useToast();
  const revoke = useMutation({
    ...revokeSessions,
    onSuccess: (revoked) => notify({ title: toEndedText(revoked), tone: "good" }),
  });
  if (sessions.length === 0) return <p className="px-4 pb-4 text-ink-soft">Nobody is signed in.</p>;
  return (
    <>
      {revoke.error !== null && (
        <div className="px-4 pb-4">
          <ErrorNotice failure={revoke.error} onDismiss={revoke.reset} />
        </div>
      )}
      <ul>
        {sessions.map(
          ({ principal_id: id, principal, sessions: count, last_seen_at: seen, expires_at: ends }) => (
            <li
              key={id}
              className="flex flex-wrap items-center gap-x-6 gap-y-1 border-t border-line px-4 py-2"
            >
              <span className="w-36 truncate font-medium">
                <EntityLink kind="principal" name={principal} id={id} />
              </span>
              <span className="text-ink-soft">
                {count === 1 ? "1 session" : `${formatCount(count)} sessions`}
              </span>
              <span className="w-28 text-ink-soft">
                Seen <Instant value={seen} format="relative" />
              </span>
              <span className="text-ink-soft">
                Ends <Instant value={ends} format="minute" />
              </span>
              <Button
                size="sm"
                variant="ghost"
                icon="sign-out"
                aria-label={`End the sessions of ${principal}`}
                busy={revoke.isPending && revoke.variables === id}
                onClick={() => revoke.mutate(id)}
              >
                End
              </Button>
            </li>
          ),
        )}
      </ul>
    </>
  );
}

/** What is said after sessions were ended. */
function toEndedText(revoked: number): string {
  return revoked === 1 ? "1 session ended" : `${revoked} sessions ended`;
}
