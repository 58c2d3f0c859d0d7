ALTER TABLE "api_keys" ADD COLUMN "scoped_by" text COLLATE "C";
--> statement-breakpoint
ALTER TABLE "relay_tokens" ADD COLUMN "scoped_by" text COLLATE "C";
