/** Joins class names; an absent part is left out. Parts must not contradict each other: nothing is merged. */
export function classNames(...parts: readonly (string | false | null | undefined)[]): string {
  return parts
    .filter((part) => part !== false && part !== null && part !== undefined && part !== "")
    .join(" ");
}
