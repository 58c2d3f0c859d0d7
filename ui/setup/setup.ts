import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { MODELS, PROVIDERS } from "../api/catalog.ts";
import { ALL_KEYS, MY_KEYS } from "../api/people.ts";
import { teamSeriesQuery } from "../api/reports.ts";
import { KEYS } from "../api/keys.ts";
import { listedModelsQuery } from "../api/models.ts";
import { useMe } from "../api/session.ts";

/** What an installation needs before it is of use, in the order in which it is done. */
export const SETUP_STEPS = ["provider", "model", "key", "request"] as const;
export type SetupStep = (typeof SETUP_STEPS)[number];

type SetupDone = { readonly [step in SetupStep]: boolean };

/** How many there are of each, as far as the one who looks may know. */
interface SetupCounts {
  /** Null for a member, who may not list them. */
  readonly providers: number | null;
  /** For a member those that can be called. */
  readonly models: number;
  /** Counts all principals for an administrator, else the caller's own. */
  readonly keys: number;
  /** Counts all principals since the installation began. */
  readonly requests: number;
}

/** What is done already, from what there is. A model that can be called has a provider. */
export function toSetupDone({ providers, models, keys, requests }: SetupCounts): SetupDone {
  const isMember = providers === null;
  return {
    provider: isMember ? models > 0 || requests > 0 : providers > 0,
    model: isMember ? models > 0 || requests > 0 : models > 0,
    // A member who has none yet joins an installation that others use: it is set up.
    key: keys > 0 || (isMember && requests > 0),
    request: requests > 0,
  };
}

export function isSetUp(done: SetupDone): boolean {
  return SETUP_STEPS.every((step) => done[step]);
}

/** The step to do now: the first that is not done. */
export function toNextStep(done: SetupDone): SetupStep | null {
  return SETUP_STEPS.find((step) => !done[step]) ?? null;
}

export interface Setup {
  /** Null until it is known, and where it could not be found out. */
  readonly done: SetupDone | null;
  /** Why it could not be found out; null while it may still be. */
  readonly failure: Error | null;
  readonly retry: () => unknown;
  readonly isAdmin: boolean;
  /** While something is missing; once nothing is, until it is dismissed. */
  readonly isShown: boolean;
  readonly dismiss: () => void;
}

/**
 * How far the installation is set up, from what there is in it and from nothing else. What is missing is looked for every
 * two seconds while the page is in sight; a step that was seen missing and is done stays in sight until it is dismissed.
 */
export function useSetup(): Setup {
  const isAdmin = useMe().role === "admin";
  const [stage, setStage] = useState<"unknown" | "missing" | "completed" | "dismissed">("unknown");
  const polling: Polling = { refetchInterval: stage === "missing" ? POLL_MS : false };
  const requests = useQuery({ ...requestCountQuery(), ...polling });
  const providers = useQuery({ ...PROVIDERS.count(), ...polling, enabled: isAdmin });
  const models = useQuery({ ...MODELS.count(), ...polling, enabled: isAdmin });
  const keys = useQuery({ ...ALL_KEYS.count(), ...polling, enabled: isAdmin });
  const callable = useQuery({ ...callableModelCountQuery(), ...polling, enabled: !isAdmin });
  const myKeys = useQuery({ ...myKeyCountQuery(), ...polling, enabled: !isAdmin });

  const done = toKnown(
    isAdmin
      ? { providers: providers.data, models: models.data, keys: keys.data, requests: requests.data }
      : { providers: null, models: callable.data, keys: myKeys.data, requests: requests.data },
  );
  const isMissing = done !== null && !isSetUp(done);
  if (isMissing && stage !== "missing") setStage("missing");
  if (done !== null && !isMissing && stage === "missing") setStage("completed");
  useFreshReports(done?.request === false);
  const failed = [requests, providers, models, keys, callable, myKeys].filter(({ error }) => error !== null);
  return {
    done,
    failure: done === null ? (failed[0]?.error ?? null) : null,
    retry: () => Promise.all(failed.map(({ refetch }) => refetch())),
    isAdmin,
    isShown: isMissing || stage === "completed",
    dismiss: () => setStage("dismissed"),
  };
}

/** What was counted before the first request is not worth keeping after it. */
function useFreshReports(isEmpty: boolean): void {
  const client = useQueryClient();
  useEffect(() => {
    if (!isEmpty) return undefined;
    return () => void client.invalidateQueries({ queryKey: KEYS.reports });
  }, [client, isEmpty]);
}

interface Polling {
  readonly refetchInterval: number | false;
}

type Counts = Parameters<typeof toSetupDone>[0];
type Asked = { readonly [count in keyof Counts]: Counts[count] | undefined };

function toKnown({ providers, models, keys, requests }: Asked): SetupDone | null {
  if (providers === undefined || models === undefined || keys === undefined || requests === undefined) {
    return null;
  }
  return toSetupDone({ providers, models, keys, requests });
}

/** How often it is looked whether something that is missing has come. */
const POLL_MS = 2_000;

/** The series of all callers since the first request; it has no buckets before there is one. */
function requestCountQuery() {
  return {
    ...teamSeriesQuery({ bucket: "month" }),
    select: ({ series }: { readonly series: readonly { readonly requests: number }[] }) =>
      series.reduce((sum, { requests }) => sum + requests, 0),
  };
}

function callableModelCountQuery() {
  return { ...listedModelsQuery(), select: toLength };
}

function myKeyCountQuery() {
  return { ...MY_KEYS.list(), select: ({ total }: { readonly total: number }) => total };
}

function toLength(rows: readonly unknown[]): number {
  return rows.length;
}
