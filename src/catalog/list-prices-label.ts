/** What the versions of list prices begin with, whatever their day. */
export const LIST_PRICES_LABEL = "list prices";

/** Whether a price came from list prices of some day: those of another day may take its place. */
export function isListVersion(version: string | null): boolean {
  return version?.startsWith(`${LIST_PRICES_LABEL} `) === true;
}
