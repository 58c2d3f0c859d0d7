import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { makeBill } from "../../contrib/build/bill.ts";

const root = join(import.meta.dir, "../..");

interface Component {
  readonly name: string;
  readonly version: string;
  readonly licenses: readonly { readonly expression: string }[];
  readonly hashes?: readonly { readonly alg: string; readonly content: string }[];
}

test("the bill of materials names all that is inside the executable, with version, hash and license, and nothing that only tests need", () => {
  const { json, licenses } = makeBill(root);
  expect(makeBill(root)).toEqual({ json, licenses });
  const bill: { components: readonly Component[] } = JSON.parse(json);
  expect(bill).toMatchObject({ bomFormat: "CycloneDX", specVersion: "1.6" });
  const { components } = bill;
  const { dependencies } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const tools = ["@tailwindcss/node", "@tailwindcss/oxide", "openai"];
  for (const [name, version] of Object.entries(dependencies).filter(([each]) => !tools.includes(each)))
    expect(components).toContainEqual(expect.objectContaining({ name, version }));
  const names = components.map(({ name }) => name);
  // Needed by what is needed, and the runtime.
  for (const inner of ["memoirist", "jose", "oauth4webapi", "bun"]) expect(names).toContain(inner);
  for (const tool of [...tools, "typescript", "playwright-core", "fast-check"])
    expect(names).not.toContain(tool);
  for (const { name, licenses: of, hashes } of components) {
    expect({ name, license: of[0]?.expression }).toEqual({
      name,
      license: expect.stringMatching(/^[(A-Z0-9]/),
    });
    if (name !== "bun")
      expect(hashes?.[0]).toMatchObject({
        alg: "SHA-512",
        content: expect.stringMatching(/^[0-9a-f]{128}$/),
      });
    if (name !== "bun") expect(licenses).toContain(`${name} `);
  }
  expect(json).not.toContain(root);
  expect(json).not.toContain("timestamp");
});
