ALTER TABLE "audit_events" ADD COLUMN "change" text COLLATE "C";
