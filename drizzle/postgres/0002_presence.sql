-- What replicas tell each other. Written by hand: rows here are read and changed by statements that name their locks.
-- The catalog's version: each change of it adds one and gives it a new token. A version that is followed by another token
-- than it was tells of a database that was restored.
CREATE TABLE catalog_state (
  id integer PRIMARY KEY CHECK (id = 1),
  version bigint NOT NULL,
  token uuid NOT NULL
) WITH (fillfactor = 50);
--> statement-breakpoint
INSERT INTO catalog_state (id, version, token) VALUES (1, 0, gen_random_uuid());
--> statement-breakpoint
-- What each version has changed. A replica that is behind what is kept reads everything again.
CREATE TABLE change_log (
  version bigint NOT NULL,
  ordinal integer NOT NULL,
  token uuid NOT NULL,
  kind text COLLATE "C" NOT NULL,
  -- Null: everything of the kind.
  row_id text COLLATE "C",
  at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (version, ordinal)
);
--> statement-breakpoint
INSERT INTO change_log (version, ordinal, token, kind) SELECT version, 0, token, 'catalog' FROM catalog_state;
--> statement-breakpoint
-- The processes that serve.
CREATE TABLE replica (
  id uuid PRIMARY KEY,
  lane integer NOT NULL,
  name text COLLATE "C" NOT NULL,
  -- The version of the catalog that its memory has; 0 while that is loaded.
  applied bigint NOT NULL,
  -- Counts its signs of life. Others measure by their own clocks how long it stays the same.
  beat bigint NOT NULL,
  -- For people: no rule compares it.
  heard_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  grace_ms integer NOT NULL,
  -- It may not answer from memory until it has loaded everything again.
  is_fenced boolean NOT NULL,
  schema text COLLATE "C" NOT NULL,
  version text COLLATE "C" NOT NULL,
  started_at timestamptz NOT NULL DEFAULT clock_timestamp()
) WITH (fillfactor = 50);
--> statement-breakpoint
-- One row for each host of a provider with max_concurrency; its lock orders the loans.
CREATE TABLE slot_pool (
  name text COLLATE "C" PRIMARY KEY,
  -- The start of the server that lent last, and since when: one that was restored may have forgotten loans.
  server_started_at timestamptz NOT NULL,
  server_seen_at timestamptz NOT NULL
);
--> statement-breakpoint
-- Connections that a replica may have open to a host.
CREATE TABLE slot_loan (
  pool text COLLATE "C" NOT NULL REFERENCES slot_pool ON DELETE CASCADE,
  replica_id uuid NOT NULL REFERENCES replica ON DELETE CASCADE,
  lent integer NOT NULL CHECK (lent >= 0),
  wanted integer NOT NULL CHECK (wanted >= 0),
  -- Since when it has none and wants some; null otherwise.
  starved_since timestamptz,
  asked_at timestamptz NOT NULL,
  PRIMARY KEY (pool, replica_id)
) WITH (fillfactor = 50);
--> statement-breakpoint
CREATE INDEX slot_loan_by_replica ON slot_loan (replica_id);
--> statement-breakpoint
-- What replicas have under way of limits of concurrent requests, as each has said last.
CREATE TABLE open_use (
  replica_id uuid PRIMARY KEY REFERENCES replica ON DELETE CASCADE,
  -- A list of [limit, value of each, its label, open, wanted].
  uses text COLLATE "C" NOT NULL
) WITH (fillfactor = 50);
--> statement-breakpoint
-- Attempts at signing in that may still be looked at, over all replicas.
CREATE TABLE attempt_bucket (
  name text COLLATE "C" PRIMARY KEY,
  available double precision NOT NULL,
  filled_at timestamptz NOT NULL
) WITH (fillfactor = 50);
--> statement-breakpoint
-- Single sign-on states that were brought back.
CREATE TABLE used_sign_in (
  state_hash text COLLATE "C" PRIMARY KEY,
  expires_at_us bigint NOT NULL
);
--> statement-breakpoint
CREATE INDEX used_sign_in_by_expiry ON used_sign_in (expires_at_us);
