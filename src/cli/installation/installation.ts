import type { Local } from "#boot/local.ts";
import type { Client } from "./client.ts";

/**
 * A Lockport that commands work on. Both kinds answer by the same routes; on this machine nothing is audited (specification,
 * section 4.6). What a route refuses is a `CommandError`.
 */
export interface Installation {
  readonly api: Client;
  /** The services of the data folder, for what no route does; null for a server under `--url`. */
  readonly local: Local | null;
}
