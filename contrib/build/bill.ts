/** The executable's content: a CycloneDX 1.6 bill of materials and the licenses, from the lock file alone. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** Dependencies of the build and of the demonstration, which leave nothing in the executable. (tailwindcss leaves its styles.) */
const OUTSIDE = new Set(["@tailwindcss/node", "@tailwindcss/oxide", "openai"]);
const LICENSE_FILE = /^(?:licen[cs]e|copying|notice)/i;

interface LockedPackage {
  /** Where it lies under `node_modules`: its name, or `<package>/<name>` for a version of that package's own. */
  readonly key: string;
  readonly name: string;
  readonly version: string;
  /** Subresource integrity, such as `sha512-…`. */
  readonly integrity: string;
  readonly requires: readonly string[];
}

export interface Bill {
  /** CycloneDX, as JSON. The same lock file gives the same bytes. */
  readonly json: string;
  /** Every license text, under the names of the packages. */
  readonly licenses: string;
}

/** Throws when a package that the lock file names is not installed, or says no license. */
export function makeBill(root: string): Bill {
  const { name, version, license, dependencies } = readManifest(root);
  const found = findPackages(
    root,
    Object.keys(dependencies).filter((each) => !OUTSIDE.has(each)),
  );
  const packages = found.map((locked) => describe(root, locked));
  const components = [
    ...packages.map(({ locked, licenseId }) => ({
      type: "library",
      "bom-ref": toPurl(locked),
      name: locked.name,
      version: locked.version,
      purl: toPurl(locked),
      hashes: toHashes(locked),
      licenses: [{ expression: licenseId }],
    })),
    // The runtime: its own license is MIT, its JavaScript engine and other parts have further ones (bun.sh/docs/project/license).
    {
      type: "framework",
      "bom-ref": `pkg:npm/bun@${Bun.version}`,
      name: "bun",
      version: Bun.version,
      purl: `pkg:npm/bun@${Bun.version}`,
      licenses: [{ expression: "MIT AND LGPL-2.0-only" }],
    },
  ];
  const bill = {
    bomFormat: "CycloneDX",
    specVersion: "1.6",
    version: 1,
    metadata: {
      component: { type: "application", name, version, licenses: [{ expression: license }] },
    },
    components,
  };
  const texts = packages.map(
    ({ locked, licenseId, text }) => `${locked.name} ${locked.version} (${licenseId})\n\n${text.trim()}\n`,
  );
  return { json: `${JSON.stringify(bill, null, 2)}\n`, licenses: texts.join(`\n${"-".repeat(80)}\n\n`) };
}

/** All that the roots need, by name and version. */
function findPackages(root: string, roots: readonly string[]): readonly LockedPackage[] {
  const locked = readLock(root);
  const found = new Map<string, LockedPackage>();
  const visit = (name: string, from: string) => {
    const key = [`${from}/${name}`, name].find((candidate) => locked.has(candidate));
    const entry = key === undefined ? undefined : locked.get(key);
    // A peer that nothing has asked for is not there.
    if (entry === undefined || found.has(entry.key)) return;
    found.set(entry.key, entry);
    for (const required of entry.requires) visit(required, entry.key);
  };
  for (const name of roots) visit(name, "");
  return [...found.values()].toSorted((left, right) => (toPurl(left) < toPurl(right) ? -1 : 1));
}

function readLock(root: string): ReadonlyMap<string, LockedPackage> {
  // JSON with commas before closing brackets.
  const text = readFileSync(join(root, "bun.lock"), "utf8").replaceAll(/,(\s*[}\]])/g, "$1");
  const { packages } = JSON.parse(text);
  return new Map(
    Object.entries<[string, string, { [field: string]: { [name: string]: string } }, string]>(packages).map(
      ([key, [id, , needs, integrity]]) => {
        const at = id.lastIndexOf("@");
        const optional = Object.values(needs["optionalPeers"] ?? {});
        const peers = Object.keys(needs["peerDependencies"] ?? {}).filter((name) => !optional.includes(name));
        const requires = [...Object.keys(needs["dependencies"] ?? {}), ...peers];
        return [key, { key, name: id.slice(0, at), version: id.slice(at + 1), integrity, requires }];
      },
    ),
  );
}

function describe(root: string, locked: LockedPackage) {
  // A version of one package's own lies in that package's folder.
  const owner = locked.key === locked.name ? null : locked.key.slice(0, -locked.name.length - 1);
  const path = join(root, "node_modules", ...(owner === null ? [] : [owner, "node_modules"]), locked.name);
  const { license } = readManifest(path);
  if (license === undefined) throw new Error(`${locked.name} says no license`);
  const file = readdirSync(path)
    .toSorted()
    .find((name) => LICENSE_FILE.test(name));
  const text =
    file === undefined ? "(The package holds no license text.)" : readFileSync(join(path, file), "utf8");
  return { locked, licenseId: license, text };
}

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly license: string;
  readonly dependencies: { readonly [name: string]: string };
}

function readManifest(folder: string): Manifest {
  return JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
}

function toPurl({ name, version }: Pick<LockedPackage, "name" | "version">): string {
  return `pkg:npm/${name.replace("@", "%40")}@${version}`;
}

function toHashes({ integrity }: LockedPackage) {
  const [algorithm = "", digest = ""] = integrity.split("-");
  return [{ alg: algorithm.replace("sha", "SHA-"), content: Buffer.from(digest, "base64").toString("hex") }];
}
