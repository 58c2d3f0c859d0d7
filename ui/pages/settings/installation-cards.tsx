import { useMutation, useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { revokeSessions } from "../../api/people.ts";
import { type InstallationSettings, settingsQuery } from "../../api/settings.ts";
import { Button } from "../../components/button.tsx";
import { Card } from "../../components/card.tsx";
import { EntityLink } from "../../components/entity-link.tsx";
import { ErrorNotice } from "../../components/error-notice.tsx";
import { Instant } from "../../components/instant.tsx";
import { TableSkeleton } from "../../components/skeleton.tsx";
import { useToast } from "../../components/toast.tsx";
import { formatBytes, formatCount, formatDuration } from "../../text/format.ts";
import { toEndedText } from "./ended-text.ts";

/** What runs here and who is signed in, for admins. Settings are those of the server's start. */
export function InstallationCards() {
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
