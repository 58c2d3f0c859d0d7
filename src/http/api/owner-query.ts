import { Type } from "@sinclair/typebox";
import { PAGE_QUERY } from "#http/door/paging.ts";
import type { QueryParam } from "#http/door/route.ts";

/** What an admin's lists of secrets can be narrowed by. */
export const OWNER_QUERY: readonly QueryParam[] = [
  ...PAGE_QUERY,
  { name: "principal", schema: Type.String(), description: "Only those of the principal with this name." },
];
