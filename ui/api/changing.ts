import { type MutationFunctionContext, type QueryClient, useQueryClient } from "@tanstack/react-query";
import { useToast } from "../components/toast.tsx";
import type { ToastMessage } from "../components/toast-messages.ts";

/** A change and the queries that are refetched after it: for `useMutation(createProvider)`. */
export interface Change<Asked, Answered> {
  readonly mutationFn: (asked: Asked) => Promise<Answered>;
  readonly onSettled: (
    answer: unknown,
    failure: Error | null,
    asked: unknown,
    begun: unknown,
    context: MutationFunctionContext,
  ) => Promise<void>;
  readonly run: (asked: Asked) => Promise<Answered>;
  readonly refresh: (client: QueryClient) => Promise<void>;
}

/**
 * Options for `useMutation`. The views that the change makes stale are refetched when it has ended, also when it failed: a
 * refusal such as `alias_exists` says that what is shown is out of date. `run` is the change alone, for a row of many whose
 * end refreshes once (`refresh`). Asked for the same once more while it is under way, it is one change: Enter pressed twice is
 * quicker than a button is busy.
 */
export function changing<Asked, Answered>(
  run: (asked: Asked) => Promise<Answered>,
  refresh: (client: QueryClient) => Promise<void>,
): Change<Asked, Answered> {
  const underWay = new Map<string, Promise<Answered>>();
  const runOnce = (asked: Asked): Promise<Answered> => {
    const same = JSON.stringify(asked) ?? "";
    const begun = underWay.get(same) ?? run(asked).finally(() => underWay.delete(same));
    underWay.set(same, begun);
    return begun;
  };
  return {
    mutationFn: runOnce,
    onSettled: (_answer, _failure, _asked, _begun, { client }) => refresh(client),
    run,
    refresh,
  };
}

/** The button of a message that takes a change back by the opposite one, and says whether it could. */
export function useUndo() {
  const client = useQueryClient();
  const { notify } = useToast();
  return <Asked, Answered>(
    { run, refresh }: Change<Asked, Answered>,
    asked: Asked,
    done: string,
  ): NonNullable<ToastMessage["action"]> => {
    const undo = async () => {
      try {
        await run(asked);
        notify({ title: done, tone: "good" });
      } catch (failure) {
        if (!(failure instanceof Error)) throw failure;
        notify({ title: "It could not be undone", body: failure.message, tone: "bad" });
      }
      await refresh(client);
    };
    return { label: "Undo", onSelect: () => void undo() };
  };
}
