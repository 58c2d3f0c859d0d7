import { useEffect, useRef, useState, type ComponentType } from "react";
import { importPart, reloadIfStale } from "./stale.ts";

/** An answer that takes longer is said to be on its way; on a quick line nothing flickers. */
export const PATIENCE_MS = 150;

export interface OnDemand<Props extends object> {
  /** Null until it was wanted and is there: a stand-in is drawn meanwhile. */
  readonly Part: ComponentType<Props> | null;
  /** It is wanted, and long enough on its way for that to be shown. */
  readonly isWaiting: boolean;
  /** Why it could not be had when it was wanted last. */
  readonly failure: Error | null;
  /** The pointer or the focus comes near the stand-in: the part is loaded, and nothing visible changes. */
  readonly approach: () => void;
  /**
   * The stand-in is used: the part takes its place as soon as it is there, unless Esc is pressed or the focus goes elsewhere
   * before that.
   */
  readonly want: () => void;
  /** The failure was read. */
  readonly dismiss: () => void;
}

/**
 * A part that is loaded when it is first used, with all that it needs to open: a menu, a list. Unlike a `lazyPart`, what
 * stands in its place keeps the focus and the text that is typed, for as long as the part is on its way. `load` is
 * always the same function.
 */
export function useOnDemand<Props extends object>(
  load: () => Promise<ComponentType<Props>>,
): OnDemand<Props> {
  const [Part, setPart] = useState<ComponentType<Props> | null>(null);
  const [isWaiting, setWaiting] = useState(false);
  const [failure, setFailure] = useState<Error | null>(null);
  const wish = useRef<AbortController>(null);
  useEffect(() => () => wish.current?.abort(), []);
  const fail = (reason: unknown) => {
    setFailure(reason instanceof Error ? reason : new Error(String(reason)));
    void reloadIfStale();
  };
  return {
    Part,
    isWaiting,
    failure,
    // Only in advance: what cannot be had now is asked for again when it is used.
    approach: () => void importPart(load).catch(() => null),
    want: () => {
      wish.current?.abort();
      const wished = untilElsewhere();
      wish.current = wished;
      const patience = setTimeout(setWaiting, PATIENCE_MS, true);
      wished.signal.addEventListener("abort", () => {
        clearTimeout(patience);
        setWaiting(false);
      });
      const settle = (act: () => void) => {
        if (wished.signal.aborted) return;
        wished.abort();
        act();
      };
      setFailure(null);
      void importPart(load).then(
        (loaded) => settle(() => setPart(() => loaded)),
        (reason) => settle(() => fail(reason)),
      );
    },
    dismiss: () => setFailure(null),
  };
}

/** Is aborted when Esc is pressed or the focus moves on: what opened then would take the keys of something else. */
function untilElsewhere(): AbortController {
  const wished = new AbortController();
  const { signal } = wished;
  const place = document.activeElement;
  document.addEventListener("keydown", ({ key }) => key === "Escape" && wished.abort(), { signal });
  document.addEventListener("focusin", ({ target }) => target !== place && wished.abort(), { signal });
  return wished;
}
