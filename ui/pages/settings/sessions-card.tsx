import { useMutation, useQuery } from "@tanstack/react-query";
import { mySessionsQuery, type OwnSession, revokeOtherSessions } from "../../api/settings.ts";
import { Button } from "../../components/button.tsx";
import { Card } from "../../components/card.tsx";
import { Badge } from "../../components/chip.tsx";
import { EmptyState } from "../../components/empty.tsx";
import { ErrorNotice } from "../../components/error-notice.tsx";
import { Instant } from "../../components/instant.tsx";
import { TableSkeleton } from "../../components/skeleton.tsx";
import { useToast } from "../../components/toast.tsx";
import { toEndedText } from "./ended-text.ts";

/** Browsers in which one is signed in. */
export function SessionsCard() {
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
