import type { Catalog } from "#catalog/catalog.ts";
import type { OwnedSecrets } from "#identity/owned-secret.ts";
import type { Principals } from "#identity/principals.ts";
import { PAGE_LIMIT_MAX } from "#kernel/page.ts";

export interface NextStep {
  /** What to type, without the program's name. */
  readonly words: readonly string[];
  /** What it does, in the third person. */
  readonly purpose: string;
}

/** The first thing that an installation still lacks on the way to its first request; null when it lacks none. */
export async function findNextStep(lacking: {
  readonly catalog: Pick<Catalog, "snapshot">;
  readonly keys: Pick<OwnedSecrets, "list">;
  readonly principals: Pick<Principals, "list">;
}): Promise<NextStep | null> {
  if (!(await hasAdminKey(lacking))) {
    return { words: ["admin", "bootstrap"], purpose: "prints a first admin API key" };
  }
  const { providers, models } = await lacking.catalog.snapshot();
  const [provider] = providers;
  if (provider === undefined) {
    return { words: ["provider", "add", "--help"], purpose: "shows how to add a provider" };
  }
  if (models.length > 0) return null;
  return { words: ["provider", "discover", provider.name], purpose: "lists its models; --bind binds them" };
}

async function hasAdminKey({
  keys,
  principals,
}: Pick<Parameters<typeof findNextStep>[0], "keys" | "principals">): Promise<boolean> {
  for (let offset = 0; ; offset += PAGE_LIMIT_MAX) {
    const { rows } = await principals.list({ limit: PAGE_LIMIT_MAX, offset });
    for (const { id, role, enabled } of rows) {
      if (role !== "admin" || !enabled) continue;
      const { total } = await keys.list({ principalId: id }, { limit: 1, offset: 0 });
      if (total > 0) return true;
    }
    if (rows.length < PAGE_LIMIT_MAX) return false;
  }
}
