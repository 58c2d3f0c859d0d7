import { compareCodeUnits } from "#kernel/text.ts";

/**
 * Clients are filtered by how they begin, so one that begins with the whole of another belongs to it: only then does each
 * request count once. Every named client with the shortest of them that it begins with; one without a name has none.
 */
export function toClientRoots(clients: Iterable<string | null>): ReadonlyMap<string, string> {
  const roots = new Map<string, string>();
  let root: string | null = null;
  // In this order whatever begins with a name follows it at once.
  for (const client of [...new Set(clients)].filter(isNamed).toSorted(compareCodeUnits)) {
    if (root === null || !client.startsWith(root)) root = client;
    roots.set(client, root);
  }
  return roots;
}

function isNamed(client: string | null): client is string {
  return client !== null && client !== "";
}
