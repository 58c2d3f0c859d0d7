/** A table that an installation takes along to another engine. */
export interface MovedTable {
  /** Its name in both engines. */
  readonly name: string;
  /** The file in which SQLite keeps it. */
  readonly file: "catalog" | "usage";
  /** Its name in progress and refusals. */
  readonly noun: string;
  /** The order in which its rows are read: a row that refers to another of its table comes behind it. */
  readonly order: string;
}

/** In an order in which each row comes behind those that it refers to. */
export const MOVED_TABLES: readonly MovedTable[] = [
  catalog("meta", "secret state", "key"),
  catalog("providers", "providers", "id"),
  // A name refers to the row that routes, never to another name.
  catalog("models", "models", "target_id IS NOT NULL, id"),
  catalog("prices", "prices", "name, unit"),
  catalog("price_variants", "price variants", "name"),
  catalog("price_schedule", "prices to come", "id"),
  catalog("price_history", "price history", "id"),
  catalog("price_inheritance", "inheritance of prices", "name, from_us"),
  catalog("pricing_feed", "price feed", "id"),
  catalog("principals", "principals", "id"),
  catalog("api_keys", "API keys", "id"),
  catalog("relay_tokens", "relay tokens", "id"),
  catalog("oidc_subject", "accounts of single sign-on", "issuer, subject"),
  catalog("sessions", "sessions", "token_hash"),
  catalog("login_links", "login links", "token_hash"),
  catalog("limits", "limits", "id"),
  catalog("notices", "notices", "sequence"),
  catalog("notice_marks", "marks of notices", "name"),
  catalog("kept_responses", "kept responses", "id_hash, principal_id"),
  catalog("audit_events", "audit log", "id"),
  usage("ledger_state", "state of the ledger", "id"),
  usage("combination", "dimensions of requests", "id"),
  usage("result", "results", "id"),
  usage("price_set", "sets of prices", "id"),
  usage("manner", "manners", "id"),
  usage("cells", "sums of sealed hours, days and months", "period, at, part"),
  usage("key_use", "last use of keys", "key_id"),
  usage("pending_event", "pending requests", "id"),
  usage("event", "request log", "id"),
  usage("hour_total", "totals of hours", "hour, outcome"),
  usage("open_cell", "sums of hours that are not sealed", "hour, combination, result"),
  usage("carried_total", "totals of late ends", "ended_day, arrived_day, combination, result"),
  usage("repricing", "re-pricings", "number"),
  usage("repriced_stretch", "former prices of re-priced requests", "repricing, from_us"),
];

/**
 * Tables of SQLite that are not moved, with the reason: which migrations were applied, which changes of the catalog are told,
 * and which server runs are facts of the database itself; a journal that was replayed to its end has no open requests, and
 * nothing that waits for their ends.
 */
export const LEFT_TABLES: readonly string[] = [
  "migration",
  "catalog_state",
  "change_log",
  "server_run",
  "open_request",
  "settlement",
];

/** Columns that the other engine has no place for: its journals say how far they are in a table of their own. */
export const LEFT_COLUMNS: readonly string[] = ["journal_segment", "journal_offset"];

function catalog(name: string, noun: string, order: string): MovedTable {
  return { name, file: "catalog", noun, order };
}

function usage(name: string, noun: string, order: string): MovedTable {
  return { name, file: "usage", noun, order };
}
