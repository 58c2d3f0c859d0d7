import type { CatalogSnapshot } from "#catalog/snapshot.ts";
import type { TellUnreadable } from "#storage/catalog/unreadable.ts";
import type { Transaction } from "#storage/postgres/connection/transaction.ts";
import { type CatalogPicture, readCatalog } from "./catalog-picture.ts";

/** The catalog as a replica remembers it. */
export interface CatalogMemory {
  /** Throws before the first `read`. */
  snapshot(): CatalogSnapshot;
  readonly tell: TellUnreadable;
  /** What need not be read again where the database is of its state. */
  known(): readonly (CatalogPicture | null)[];
  /** A picture that is remembered once the database says that it is the present one: its transaction may not be committed. */
  expect(picture: CatalogPicture): void;
  /** Reads the catalog; what is returned makes it the present one. */
  read(tx: Transaction): Promise<() => void>;
}

export function createCatalogMemory(tell: TellUnreadable): CatalogMemory {
  let present: CatalogPicture | null = null;
  let expected: CatalogPicture | null = null;
  const known = () => [present, expected];
  return {
    snapshot() {
      if (present === null) throw new Error("the catalog was not loaded");
      return present.snapshot;
    },
    tell,
    known,
    expect(picture) {
      expected = picture;
    },
    async read(tx) {
      const read = await readCatalog(tx, known(), tell);
      return () => {
        present = read;
        if (read === expected) expected = null;
      };
    },
  };
}
