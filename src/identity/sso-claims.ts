import { NAME_LENGTH_MAX } from "#kernel/text.ts";
import type { ProvenIdentity } from "./oidc.ts";

/**
 * The groups of a claim: the texts of an array, each taken whole, or the words of a space- or comma-separated text.
 * Anything else is no group. What is searched for in it is compared by exact element.
 */
export function toGroups(claim: unknown): ReadonlySet<string> {
  if (typeof claim === "string") return new Set(claim.split(/[\s,]+/).filter((word) => word !== ""));
  if (!Array.isArray(claim)) return new Set();
  return new Set(claim.filter((element): element is string => typeof element === "string"));
}

/**
 * A name by the rule of section 2.8: of `preferred_username`, else of the e-mail address's local part, else of `sub`; of
 * the first of them that leaves any character that the rule allows.
 */
export function toPrincipalName(identity: Pick<ProvenIdentity, "subject" | "claim">): string {
  const email = identity.claim("email");
  const localPart = typeof email === "string" ? email.split("@", 1)[0] : undefined;
  const sources = [identity.claim("preferred_username"), localPart, identity.subject];
  const names = sources.map((source) => (typeof source === "string" ? fitName(source) : ""));
  return names.find((name) => name !== "") ?? "user";
}

/** `jane`, `jane-2`, `jane-3`, …, each within the length of a name. */
export function toNumberedName(name: string, number: number): string {
  const suffix = number === 1 ? "" : `-${number}`;
  return `${name.slice(0, NAME_LENGTH_MAX - suffix.length)}${suffix}`;
}

/** A longer text is a mistake or an attack, and normalising costs time. */
const SOURCE_LENGTH_MAX = 1000;

/** Letters lose their accents (`José` is `jose`), other runs become a dash; empty when nothing is left. */
function fitName(text: string): string {
  return text
    .slice(0, SOURCE_LENGTH_MAX)
    .normalize("NFKD")
    .replace(/\p{M}/gu, "")
    .toLowerCase()
    .replace(/[^a-z0-9._-]+/g, "-")
    .replace(/^[._-]+/, "")
    .slice(0, NAME_LENGTH_MAX)
    .replace(/-+$/, "");
}
