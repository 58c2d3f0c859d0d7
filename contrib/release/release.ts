/**
 * `npm run release` makes what is published of a version, in dist/release: an archive for each system, the bill of materials,
 * the notes of the changelog, and SHA256SUMS of all. The same commit gives the same bytes. `-- --target linux-x64` makes one
 * archive, `-- --outdir DIR` puts them elsewhere.
 */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { buildExecutable, installRuntimes, TARGETS, type Target } from "../../build.ts";
import { gzipSync } from "node:zlib";
import { zipSync } from "fflate";
import manifest from "../../package.json" with { type: "json" };
import { encodeTarHeader, TAR_BLOCK_BYTES, tarPaddingBytes } from "../../src/storage/backup/tar.ts";
import { makeBill } from "../build/bill.ts";
import { findCommit, findCommittedAt } from "../build/commit.ts";

const root = join(import.meta.dir, "../..");

export interface ReleaseOptions {
  readonly outdir: string;
  readonly targets: readonly Target[];
  /** Makes the executable of a system, and returns its path. */
  readonly build: (outfile: string, target: Target) => Promise<string>;
  readonly modifiedAtSeconds: number;
  readonly report: (line: string) => void;
}

/** The names of a release's files. Other files in its folder are left alone. */
const RELEASE_FILE = /^(?:lockport-.+|NOTES\.md|SHA256SUMS)$/;

/** Names of the files, in `outdir`, from which those of a former release go first. Throws when the changelog says nothing of the version. */
export async function makeRelease(options: ReleaseOptions): Promise<readonly string[]> {
  const { outdir, targets, build, modifiedAtSeconds, report } = options;
  const name = `lockport-${manifest.version}`;
  const notes = findNotes(readFileSync(join(root, "CHANGELOG.md"), "utf8"), manifest.version);
  const { json, licenses } = makeBill(root);
  mkdirSync(outdir, { recursive: true });
  for (const file of readdirSync(outdir).filter((each) => RELEASE_FILE.test(each)))
    rmSync(join(outdir, file));
  writeFileSync(join(outdir, `${name}.cdx.json`), json);
  writeFileSync(join(outdir, "NOTES.md"), `# Lockport ${manifest.version}\n\n${notes}\n`);
  const texts: readonly ArchivedFile[] = [
    { name: "LICENSE", bytes: readBytes(join(root, "LICENSE")) },
    { name: "lockport.licenses.txt", bytes: new TextEncoder().encode(licenses) },
    { name: "lockport.cdx.json", bytes: new TextEncoder().encode(json) },
  ];
  const folder = mkdtempSync(join(tmpdir(), "lockport-release-"));
  try {
    for (const target of targets) {
      const startedAtMs = performance.now();
      const isWindows = target.startsWith("windows");
      const built = readBytes(await build(join(folder, "lockport"), target));
      const executable = { name: isWindows ? "lockport.exe" : "lockport", bytes: built, isExecutable: true };
      const contents = { folder: `${name}-${target}`, files: [executable, ...texts], modifiedAtSeconds };
      const file = `${name}-${target}${isWindows ? ".zip" : ".tar.gz"}`;
      const archive = isWindows ? toZip(contents) : toTarGz(contents);
      writeFileSync(join(outdir, file), archive);
      const seconds = ((performance.now() - startedAtMs) / 1000).toFixed(0);
      report(`${file}  ${toMegabytes(archive.length)} of ${toMegabytes(built.length)}, ${seconds} s`);
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  const files = readdirSync(outdir)
    .filter((file) => RELEASE_FILE.test(file))
    .toSorted();
  const sums = files.map((file) => `${sha256Hex(readBytes(join(outdir, file)))}  ${file}\n`);
  writeFileSync(join(outdir, "SHA256SUMS"), sums.join(""));
  return [...files, "SHA256SUMS"];
}

function readBytes(path: string): Uint8Array<ArrayBuffer> {
  return new Uint8Array(readFileSync(path));
}

function sha256Hex(bytes: Uint8Array): string {
  return new Bun.CryptoHasher("sha256").update(bytes).digest("hex");
}

function toMegabytes(sizeBytes: number): string {
  return `${(sizeBytes / 1e6).toFixed(1)} MB`;
}

if (import.meta.main) await main();

async function main(): Promise<void> {
  // Times in a zip are local ones.
  process.env["TZ"] = "UTC";
  const { values } = parseArgs({
    options: {
      target: { type: "string", multiple: true, default: Object.keys(TARGETS) },
      outdir: { type: "string", default: join(root, "dist/release") },
    },
  });
  const known: readonly string[] = Object.keys(TARGETS);
  const unknown = values.target.find((target) => !known.includes(target));
  if (unknown !== undefined) {
    console.error(`unknown target ${unknown}: ${known.join(", ")}`);
    process.exit(2);
  }
  const outdir = resolve(values.outdir);
  // The names of the parts are hashes of paths relative to this folder, as in build.ts.
  process.chdir(root);
  const commit = findCommit(root);
  installRuntimes();
  console.log(`Lockport ${manifest.version}, commit ${commit ?? "unknown"}, to ${outdir}`);
  const startedAtMs = performance.now();
  const files = await makeRelease({
    outdir,
    targets: values.target.filter((target): target is Target => known.includes(target)),
    build: (outfile, target) => buildExecutable(outfile, { target, commit }),
    modifiedAtSeconds: findCommittedAt(root) ?? 0,
    report: (line) => console.log(line),
  });
  console.log(
    `${files.length} files in ${((performance.now() - startedAtMs) / 1000).toFixed(0)} s; SHA256SUMS names them.`,
  );
  if (commit === null || commit.endsWith("-dirty"))
    console.log("Not to be published: the executables name no commit that others can build.");
  if (isUnreleased(readFileSync(join(root, "CHANGELOG.md"), "utf8"), manifest.version))
    console.log("Before it is published: CHANGELOG.md calls this version unreleased.");
}

export interface ArchivedFile {
  /** Below the archive's only folder. */
  readonly name: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly isExecutable?: boolean;
}

export interface ArchiveContents {
  /** The folder that all files lie in. */
  readonly folder: string;
  readonly files: readonly ArchivedFile[];
  /** All files have this one: an archive of the same files at another time is the same bytes. */
  readonly modifiedAtSeconds: number;
}

const COMPRESSION_LEVEL = 9;
/** Byte 9 of a gzip file is the system that made it (RFC 1952, section 2.3.1); 3 is Unix. */
const GZIP_OS_AT = 9;
const UNIX = 3;
const REGULAR_FILE = 0o100_000;
/** Before it a zip has no dates. */
const ZIP_EPOCH_SECONDS = Date.UTC(1980, 0, 2) / 1000;

/** A gzipped ustar archive. */
export function toTarGz({ folder, files, modifiedAtSeconds }: ArchiveContents): Uint8Array<ArrayBuffer> {
  const entries = files.flatMap((file) => [
    encodeTarHeader(
      { name: `${folder}/${file.name}`, sizeBytes: file.bytes.length },
      modifiedAtSeconds,
      toMode(file),
    ),
    file.bytes,
    Buffer.alloc(tarPaddingBytes(file.bytes.length)),
  ]);
  const tar = Buffer.concat([...entries, Buffer.alloc(2 * TAR_BLOCK_BYTES)]);
  const gzip = gzipSync(tar, { level: COMPRESSION_LEVEL });
  gzip[GZIP_OS_AT] = UNIX;
  return gzip;
}

/** A zip has local times without a zone: the same bytes come out where TZ is UTC. */
export function toZip({ folder, files, modifiedAtSeconds }: ArchiveContents): Uint8Array<ArrayBuffer> {
  const mtime = new Date(Math.max(modifiedAtSeconds, ZIP_EPOCH_SECONDS) * 1000);
  const entries = files.map((file) => [
    `${folder}/${file.name}`,
    [file.bytes, { mtime, os: UNIX, attrs: ((REGULAR_FILE | toMode(file)) << 16) >>> 0 }] as const,
  ]);
  return zipSync(Object.fromEntries(entries), { level: COMPRESSION_LEVEL });
}

function toMode({ isExecutable = false }: ArchivedFile): number {
  return isExecutable ? 0o755 : 0o644;
}

/** The changelog's section of a version, without its heading. Throws if there is none. */
export function findNotes(changelog: string, version: string): string {
  const [, ...parts] = `\n${changelog}`.split("\n## ");
  const part = parts.find((each) => each.split(/\s/, 1)[0] === version);
  const notes = part?.slice(part.indexOf("\n")).trim() ?? "";
  if (notes === "") throw new Error(`CHANGELOG.md says nothing of ${version}.`);
  return notes;
}

/** The heading of that version says "(unreleased)". */
export function isUnreleased(changelog: string, version: string): boolean {
  return changelog.includes(`\n## ${version} (unreleased)\n`);
}
