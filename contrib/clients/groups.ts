import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** Clients that are installed together, in a folder of their own, from exact versions in `contrib/clients/<name>`. */
export interface ClientGroup {
  readonly name: string;
  readonly kind: "python" | "javascript";
  /** The versions of Python that its packages are made for: from the first, below the second. */
  readonly python?: readonly [from: readonly [number, number], below: readonly [number, number]];
}

export const GROUPS = [
  {
    name: "python",
    kind: "python",
    python: [
      [3, 11],
      [3, 15],
    ],
  },
  {
    // LlamaIndex needs the OpenAI SDK below version 3.
    name: "llamaindex",
    kind: "python",
    python: [
      [3, 10],
      [3, 14],
    ],
  },
  {
    name: "aider",
    kind: "python",
    python: [
      [3, 10],
      [3, 13],
    ],
  },
  { name: "javascript", kind: "javascript" },
  { name: "claude-code", kind: "javascript" },
  { name: "codex", kind: "javascript" },
  { name: "continue", kind: "javascript" },
] as const satisfies readonly ClientGroup[];

export type GroupName = (typeof GROUPS)[number]["name"];

export function isPython(group: GroupName): boolean {
  return GROUPS.some(({ name, kind }) => name === group && kind === "python");
}

const root = join(import.meta.dir, "../..");

/** File with the exact versions. */
export function toManifestFolder(name: GroupName): string {
  return join(import.meta.dir, name);
}

/** Folder in which a group is installed. */
export function toGroupFolder(name: GroupName): string {
  return join(root, "node_modules/.cache/clients", name);
}

/** Says which manifests an installation was made from; written once it is complete. */
export function toStampFile(name: GroupName): string {
  return join(toGroupFolder(name), "installed");
}

/** A digest of the group's manifests. */
export function toStamp(name: GroupName): string {
  const hash = new Bun.CryptoHasher("sha256");
  for (const file of readdirSync(toManifestFolder(name)).sort()) {
    hash.update(`${file}\n${readFileSync(join(toManifestFolder(name), file), "utf8")}\n`);
  }
  return hash.digest("hex");
}

export function isInstalled(name: GroupName): boolean {
  const file = toStampFile(name);
  return existsSync(file) && readFileSync(file, "utf8") === toStamp(name);
}
