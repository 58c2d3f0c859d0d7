import { expect, test } from "bun:test";
import { join } from "node:path";
import { PRODUCT_VERSION } from "#kernel/version.ts";
import manifest from "../../package.json" with { type: "json" };

test("the changelog begins with the version of the package, which is the product's", async () => {
  expect(PRODUCT_VERSION).toBe(manifest.version);
  const changelog = await Bun.file(join(import.meta.dir, "../../CHANGELOG.md")).text();
  const heading = /^## (\S+)/m.exec(changelog)?.[1];
  expect(heading).toBe(manifest.version);
});
