-- The rows of `event` that wait for a settlement, with their combination: retention passes them over, and reports count them.
CREATE TABLE pending_event (
  id bigint NOT NULL,
  lane integer NOT NULL,
  combination integer NOT NULL,
  PRIMARY KEY (id, lane)
);
--> statement-breakpoint
-- Lines of journals that settle an event, until it is done: another replica may settle an event before it has come.
CREATE TABLE settlement (
  id bigint NOT NULL,
  lane integer NOT NULL,
  line text COLLATE "C" NOT NULL,
  PRIMARY KEY (id, lane)
);
