import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useReducer, useRef, useState } from "react";
import { createModel, type DiscoveredModels } from "../api/catalog.ts";
import { ApiFailure } from "../api/failure.ts";
import {
  changeBindRows,
  toBindRows,
  toDraft,
  type BindAction,
  type BindRow,
  type BindRows,
} from "./bind-rows.ts";

/** How far a run has come. */
export interface BindProgress {
  readonly done: number;
  readonly total: number;
}

export interface BindOutcome {
  readonly bound: number;
  readonly failed: number;
  readonly isStopped: boolean;
}

export interface BindRun {
  readonly rows: BindRows;
  readonly change: (action: BindAction) => void;
  /** Null: nothing is being bound. */
  readonly progress: BindProgress | null;
  /** The result of the last run; null before the first. */
  readonly outcome: BindOutcome | null;
  /**
   * Binds what is ticked, one after the other; what fails stays ticked with its reason. The end of the session ends the run.
   */
  readonly start: () => void;
  /** Ends the run after the model that is under way. */
  readonly stop: () => void;
}

interface BindListeners {
  readonly onBusyChange: ((isBusy: boolean) => void) | undefined;
  /** Called at the end of a run in which nothing failed. */
  readonly onAllAdded: ((aliases: readonly string[]) => void) | undefined;
}

/** The choice of models of one provider, and the binding of them. */
export function useBindRun(
  provider: string,
  discovered: DiscoveredModels["models"],
  { onBusyChange, onAllAdded }: BindListeners,
): BindRun {
  const client = useQueryClient();
  const [rows, change] = useReducer(changeBindRows, discovered, toBindRows);
  const [progress, setProgress] = useState<BindProgress | null>(null);
  const [outcome, setOutcome] = useState<BindOutcome | null>(null);
  const isStopped = useRef(false);
  // Left in the middle of a run: the rest is not bound behind one's back.
  useEffect(
    () => () => {
      isStopped.current = true;
    },
    [],
  );

  const run = async (chosen: readonly BindRow[]) => {
    const aliases: string[] = [];
    let failed = 0;
    isStopped.current = false;
    setOutcome(null);
    onBusyChange?.(true);
    for (const [index, row] of chosen.entries()) {
      if (isStopped.current) break;
      setProgress({ done: index, total: chosen.length });
      try {
        const { alias } = await createModel.run(toDraft(provider, row));
        change({ kind: "bound", upstreamName: row.upstreamName, alias });
        aliases.push(alias);
      } catch (failure) {
        if (!(failure instanceof Error)) throw failure;
        change({ kind: "failed", upstreamName: row.upstreamName, failure });
        failed += 1;
        // The session has ended: the rest would be refused as well.
        if (failure instanceof ApiFailure && failure.status === 401) isStopped.current = true;
      }
    }
    await createModel.refresh(client);
    setProgress(null);
    onBusyChange?.(false);
    setOutcome({ bound: aliases.length, failed, isStopped: isStopped.current });
    if (aliases.length === chosen.length) onAllAdded?.(aliases);
  };

  return {
    rows,
    change,
    progress,
    outcome,
    start: () => {
      const chosen = [...rows.values()].filter(({ isTicked, boundAlias }) => isTicked && boundAlias === null);
      if (progress === null && chosen.length > 0) void run(chosen);
    },
    stop: () => {
      isStopped.current = true;
    },
  };
}
