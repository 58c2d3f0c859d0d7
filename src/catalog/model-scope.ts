/**
 * The aliases that a caller may use and see; null: every one. Any other is to that caller as if it were not there. It is of
 * names, be they in the catalog or not: a model that is renamed is another one to it.
 */
export type ModelScope = ReadonlySet<string> | null;

export function isInScope(scope: ModelScope, alias: string): boolean {
  return scope === null || scope.has(alias);
}
