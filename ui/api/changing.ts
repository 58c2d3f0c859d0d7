import { mutationOptions, type QueryClient } from "@tanstack/react-query";

/** A change and the queries that are refetched after it: for `useMutation(createProvider)`. */
export type Change<Asked, Answered> = ReturnType<typeof changing<Asked, Answered>>;

/**
 * Options for `useMutation`. The views that the change makes stale are refetched when it has ended, also when it failed: a
 * refusal such as `alias_exists` says that what is shown is out of date. `run` is the change alone, for a row of many whose
 * end refreshes once (`refresh`). Asked for the same once more while it is under way, it is one change: Enter pressed twice is
 * quicker than a button is busy.
 */
export function changing<Asked, Answered>(
  run: (asked: Asked) => Promise<Answered>,
  refresh: (client: QueryClient) => Promise<void>,
) {
  const underWay = new Map<string, Promise<Answered>>();
  const runOnce = (asked: Asked): Promise<Answered> => {
    const same = JSON.stringify(asked) ?? "";
    const begun = underWay.get(same) ?? run(asked).finally(() => underWay.delete(same));
    underWay.set(same, begun);
    return begun;
  };
  const options = mutationOptions({
    mutationFn: runOnce,
    onSettled: (_answer, _failure, _asked, _begun, { client }) => refresh(client),
  });
  return { ...options, run, refresh };
}
