import { SetupError } from "#kernel/errors.ts";
import { isJsonObject, type JsonObject } from "#kernel/json.ts";
import { CATALOG_NAME, USAGE_NAME, SECRET_KEY_NAME } from "#storage/files/data-files.ts";

/** The first entry of a backup. The others have the names that they have in the data folder, journal segments in theirs. */
export const MANIFEST_NAME = "manifest.json";
const JOURNAL_PATTERN = /^journal\/\d{12}\.journal$/;
const FIXED_NAMES = new Set([CATALOG_NAME, USAGE_NAME, SECRET_KEY_NAME]);

const FORMAT = "lockport-backup";
const FORMAT_VERSION = 1;

export interface BackupPart {
  readonly name: string;
  readonly sizeBytes: number;
}

/** The first entry of a backup, which describes it. Holds no secret. */
export interface BackupManifest {
  /** `YYYY-MM-DDTHH:MM:SS.ssssssZ`: everything recorded before it is in the backup. */
  readonly createdAt: string;
  readonly interfaceVersion: string;
  /** The last migration of the catalog. */
  readonly catalogSchema: string;
  /** Null: no server had run yet, so that there was no ledger. */
  readonly usageSchema: number | null;
  readonly parts: readonly BackupPart[];
}

export function hasSecretKey({ parts }: Pick<BackupManifest, "parts">): boolean {
  return parts.some(({ name }) => name === SECRET_KEY_NAME);
}

export function isJournalName(name: string): boolean {
  return JOURNAL_PATTERN.test(name);
}

export function encodeManifest(manifest: BackupManifest): Buffer {
  const { createdAt, interfaceVersion, catalogSchema, usageSchema, parts } = manifest;
  const wire = {
    format: FORMAT,
    format_version: FORMAT_VERSION,
    created_at: createdAt,
    interface_version: interfaceVersion,
    catalog_schema: catalogSchema,
    usage_schema: usageSchema,
    has_secret_key: hasSecretKey(manifest),
    parts: parts.map(({ name, sizeBytes }) => ({ name, size_bytes: sizeBytes })),
  };
  return Buffer.from(`${JSON.stringify(wire, null, 2)}\n`);
}

/** Null for what is no manifest of ours. Throws a `SetupError` for one of a later format. */
export function parseManifest(bytes: Uint8Array): BackupManifest | null {
  const wire = parseObject(bytes);
  if (wire === null || wire["format"] !== FORMAT) return null;
  if (wire["format_version"] !== FORMAT_VERSION) {
    throw new SetupError(
      "configuration",
      "The backup was made by a newer lockport: restore it with that version.",
    );
  }
  const createdAt = wire["created_at"];
  const interfaceVersion = wire["interface_version"];
  const catalogSchema = wire["catalog_schema"];
  const usageSchema = wire["usage_schema"];
  const parts = parseParts(wire["parts"]);
  if (
    typeof createdAt !== "string" ||
    typeof interfaceVersion !== "string" ||
    typeof catalogSchema !== "string" ||
    (typeof usageSchema !== "number" && usageSchema !== null) ||
    parts === null
  ) {
    return null;
  }
  return { createdAt, interfaceVersion, catalogSchema, usageSchema, parts };
}

/** Names that are known and stand once, so that nothing is ever written outside of the folder that is unpacked into. */
function parseParts(value: unknown): readonly BackupPart[] | null {
  if (!Array.isArray(value)) return null;
  const parts = value.flatMap((entry: unknown) => parsePart(entry) ?? []);
  const names = new Set(parts.map(({ name }) => name));
  return parts.length === value.length && names.size === parts.length && names.has(CATALOG_NAME)
    ? parts
    : null;
}

function parsePart(value: unknown): BackupPart | null {
  if (!isJsonObject(value)) return null;
  const name = value["name"];
  const sizeBytes = value["size_bytes"];
  if (typeof name !== "string" || !(FIXED_NAMES.has(name) || isJournalName(name))) return null;
  const isSize = typeof sizeBytes === "number" && Number.isSafeInteger(sizeBytes) && sizeBytes >= 0;
  return isSize ? { name, sizeBytes } : null;
}

function parseObject(bytes: Uint8Array): JsonObject | null {
  try {
    const value: unknown = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
    return isJsonObject(value) ? value : null;
  } catch {
    return null;
  }
}
