import { expect, test } from "bun:test";
import fc from "fast-check";
import { toPrintableLines } from "#cli/screen/output.ts";
import { parseCatalog } from "#interchange/catalog-parse.ts";
import { formatCatalog } from "#interchange/catalog-text.ts";
import { toCatalogFileView } from "#views/catalog-file.ts";
import { life, live } from "../catalog/lives.ts";
import { openTestCatalog } from "../catalog/support.ts";
import { scale } from "../support/scale.ts";

test(
  "a catalog that is written as text, or as JSON, is read as the same catalog, and written again as the same bytes",
  () =>
    fc.assert(
      fc.asyncProperty(life, async (operations) => {
        const one = await openTestCatalog();
        try {
          await live(one.catalog, operations);
          const file = toCatalogFileView(await one.catalog.snapshot());
          const text = toPrintableLines(formatCatalog(file));
          expect(parseCatalog(text)).toEqual({ kind: "read", file });
          expect(parseCatalog(JSON.stringify(file))).toEqual({ kind: "read", file });
          expect(toPrintableLines(formatCatalog(file))).toBe(text);
        } finally {
          await one.close();
        }
      }),
      { numRuns: 14 * scale },
    ),
  120_000,
);
