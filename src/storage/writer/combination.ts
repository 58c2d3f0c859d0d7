import type { UsageDimensions } from "#usage/event.ts";
import type { UsageManner } from "#usage/journal-line.ts";
import { toStoredTags } from "#storage/cells/stored-tags.ts";

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
  "tier",
] as const;

/** What a label set has of an ending. */
export type LabelledEnding = Pick<UsageManner, "shape" | "tier">;

/** Tells label sets of the same dimensions apart. */
export function toVariant({ shape, tier }: LabelledEnding): string | null {
  return tier === undefined ? shape : `${shape} ${tier}`;
}

/**
 * What a request has in common with others, as it is stored once. Without a tier the row ends before it: its fingerprint is
 * what it was before there were any.
 */
export function toCombinationRow(
  dimensions: UsageDimensions,
  { shape, tier }: LabelledEnding,
): (string | null)[] {
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
    ...(tier === undefined ? [] : [tier]),
  ];
}

/** Finds a row by the JSON of it. */
export function toFingerprint(row: string): Uint8Array {
  const digest = new Bun.CryptoHasher("sha256").update(row).digest();
  return new Uint8Array(digest.subarray(0, FINGERPRINT_BYTES));
}
