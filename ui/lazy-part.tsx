import { use, type ComponentType, type ReactNode } from "react";
import { importPart } from "./stale.ts";

const failed = new Set<() => void>();

/**
 * What is loaded when it is first drawn, for the use in a component. Suspends until it is there. Throws `PartMissing` when
 * its file cannot be had, until that is forgotten: with `lazy` of React, or the router's own, the part could never be tried
 * again, and the router's would load the page again while the server is away.
 */
export function lazyLoaded<Value>(load: () => Promise<Value>): () => Value {
  let asked: Promise<Value> | null = null;
  const ask = async () => {
    try {
      return await importPart(load);
    } catch (failure) {
      failed.add(() => (asked = null));
      throw failure;
    }
  };
  return function useLoaded() {
    asked ??= ask();
    return use(asked);
  };
}

/** A component that is loaded so: what the first look at a page does not need. */
export function lazyPart<Props extends object>(
  load: () => Promise<ComponentType<Props>>,
): (props: Props) => ReactNode {
  const useLoaded = lazyLoaded(load);
  return function Part(props) {
    const Loaded = useLoaded();
    return <Loaded {...props} />;
  };
}

/** Lets failed parts be loaded again when they are next drawn; called by what is shown in their place. */
export function forgetFailedParts(): void {
  for (const forget of failed) forget();
  failed.clear();
}
