-- active is 1 for the one that is under way, which there is one of; holder is the lane of the replica that does it.
CREATE TABLE repricing (
  number integer PRIMARY KEY,
  id text COLLATE "C" NOT NULL UNIQUE,
  state text COLLATE "C" NOT NULL,
  active integer UNIQUE,
  holder integer NOT NULL,
  beat double precision NOT NULL,
  done_events double precision NOT NULL,
  planned_us bigint NOT NULL,
  changed_us bigint,
  from_us bigint,
  until_us bigint,
  body text COLLATE "C" NOT NULL
);
--> statement-breakpoint
CREATE TABLE repriced_stretch (
  repricing text COLLATE "C" NOT NULL,
  from_us bigint NOT NULL,
  until_us bigint NOT NULL,
  events double precision NOT NULL,
  undo bytea NOT NULL,
  PRIMARY KEY (repricing, from_us)
);
