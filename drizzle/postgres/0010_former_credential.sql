ALTER TABLE "providers" ADD COLUMN "former_credential" "bytea";
--> statement-breakpoint
ALTER TABLE "providers" ADD COLUMN "former_set_at_us" bigint;
--> statement-breakpoint
ALTER TABLE "providers" ADD COLUMN "former_until_us" bigint;
