/** The message of a failed build of the page; a bundle's faults with their files and lines. */
export function describeFailure(failure: unknown): string {
  const faults = failure instanceof AggregateError ? failure.errors.map((fault) => Bun.inspect(fault)) : [];
  const message = failure instanceof Error ? failure.message : String(failure);
  return ["the page was not built:", message, ...faults].join("\n");
}
