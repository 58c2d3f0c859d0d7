import { Type } from "@sinclair/typebox";
import { PAGE_QUERY } from "#http/door/paging.ts";
import type { QueryParam } from "#http/door/route.ts";

/** The parameters of an admin's lists of keys and relay tokens. */
export const OWNER_QUERY: readonly QueryParam[] = [
  ...PAGE_QUERY,
  { name: "principal", schema: Type.String(), description: "Only those of the principal with this name." },
];
