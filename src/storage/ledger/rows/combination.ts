import type { UsageDimensions, UsageShape } from "#usage/event.ts";
import { toStoredTags } from "./stored-tags.ts";

/** 128 bits of SHA-256: the text itself would be kept twice. */
const FINGERPRINT_BYTES = 16;

/** The columns of `combination` behind its id and its fingerprint, in the order of `toCombinationRow`. */
export const COMBINATION_COLUMNS = [
  "principal_id",
  "principal_name",
  "key_id",
  "relay_token_id",
  "provider_id",
  "model",
  "upstream_name",
  "endpoint",
  "client",
  "tags",
  "shape",
] as const;

/** What a request has in common with others, as it is stored once. */
export function toCombinationRow(dimensions: UsageDimensions, shape: UsageShape | null): (string | null)[] {
  return [
    dimensions.principalId,
    dimensions.principalName,
    dimensions.keyId,
    dimensions.relayTokenId,
    dimensions.providerId,
    dimensions.model,
    dimensions.upstreamName,
    dimensions.endpoint,
    dimensions.client,
    toStoredTags(dimensions),
    shape,
  ];
}

/** Finds a row by the JSON of it. */
export function toFingerprint(row: string): Uint8Array {
  const digest = new Bun.CryptoHasher("sha256").update(row).digest();
  return new Uint8Array(digest.subarray(0, FINGERPRINT_BYTES));
}
