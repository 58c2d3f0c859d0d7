ALTER TABLE combination ADD COLUMN geo text COLLATE "C";
--> statement-breakpoint
-- An earlier build that still runs beside this one writes neither: what it adds has none.
ALTER TABLE hour_total
  ADD COLUMN cost_reported_requests double precision NOT NULL DEFAULT 0,
  ADD COLUMN cost_reported_hi double precision NOT NULL DEFAULT 0,
  ADD COLUMN cost_reported_lo double precision NOT NULL DEFAULT 0;
--> statement-breakpoint
ALTER TABLE open_cell
  ADD COLUMN cost_reported_requests double precision NOT NULL DEFAULT 0,
  ADD COLUMN cost_reported_hi double precision NOT NULL DEFAULT 0,
  ADD COLUMN cost_reported_lo double precision NOT NULL DEFAULT 0;
--> statement-breakpoint
ALTER TABLE carried_total
  ADD COLUMN cost_reported_requests double precision NOT NULL DEFAULT 0,
  ADD COLUMN cost_reported_hi double precision NOT NULL DEFAULT 0,
  ADD COLUMN cost_reported_lo double precision NOT NULL DEFAULT 0;
