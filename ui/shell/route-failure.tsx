import type { ErrorComponentProps } from "@tanstack/react-router";
import { useRouter } from "@tanstack/react-router";
import { use, useCallback, useEffect } from "react";
import { ApiFailure, offline } from "../api/failure.ts";
import { ErrorNotice } from "../components/error-notice.tsx";
import { forgetFailedParts } from "../lazy-part.tsx";
import { findServedBuild, PartMissing, reloadIfStale } from "../stale.ts";
import { ConnectionContext } from "./connection.tsx";

/** In place of everything, where not even the shell could be shown. */
export function RootFailure(props: ErrorComponentProps) {
  return (
    <main>
      <RouteFailure {...props} />
    </main>
  );
}

/** What is shown in place of a page that could not be shown: the sentence, its code, and another try. */
export function RouteFailure({ error, reset }: ErrorComponentProps) {
  const router = useRouter();
  const connection = use(ConnectionContext);
  const retry = useCallback(() => {
    reset();
    void router.invalidate();
  }, [reset, router]);
  useEffect(() => {
    if (!(error instanceof PartMissing)) return;
    forgetFailedParts();
    // Either the server has another build, or it does not answer: then this page comes when it does again.
    const look = async () => {
      if ((await findServedBuild()) === null) connection?.noteFailure(offline(error));
      else await reloadIfStale();
    };
    void look();
  }, [error, connection]);
  useEffect(() => {
    const isWaiting = connection !== null && error instanceof PartMissing;
    return isWaiting ? connection.subscribe(() => connection.isOnline() && retry()) : undefined;
  }, [error, connection, retry]);
  return (
    <div className="mx-auto max-w-2xl p-6">
      <h1 className="mb-4 text-xl font-semibold">This page could not be shown</h1>
      <ErrorNotice failure={toFailure(error)} onRetry={retry} />
    </div>
  );
}

function toFailure(error: unknown): ApiFailure {
  if (error instanceof ApiFailure) return error;
  const message = error instanceof Error ? error.message : "An error occurred in this page.";
  return new ApiFailure({ code: "page_error", status: 0, message, param: null });
}
