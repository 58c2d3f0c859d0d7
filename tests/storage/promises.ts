import { test } from "bun:test";
import { type CatalogEngine, type OpenedCatalog, principal } from "./support.ts";

/** The thing that a promise is tested on: the stores of one connection. */
interface Tested extends OpenedCatalog {
  readonly engine: CatalogEngine;
  /** Another connection. */
  open(): Promise<OpenedCatalog>;
}

/** Makes tests of what an engine promises, each on an empty one in whose catalog these principals are. */
export function toPromises(createEngine: () => CatalogEngine, ...principals: readonly string[]) {
  return (name: string, check: (tested: Tested) => Promise<void>) =>
    test(name, async () => {
      await using engine = createEngine();
      const stores = await engine.open();
      for (const one of principals) await stores.identity.createPrincipal(principal(one), null);
      await check({ ...stores, engine, open: () => engine.open() });
    });
}
