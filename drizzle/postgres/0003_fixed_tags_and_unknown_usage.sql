ALTER TABLE "api_keys" ADD COLUMN "tags" text COLLATE "C";--> statement-breakpoint
ALTER TABLE "principals" ADD COLUMN "tags" text COLLATE "C";--> statement-breakpoint
ALTER TABLE "relay_tokens" ADD COLUMN "tags" text COLLATE "C";--> statement-breakpoint
ALTER TABLE "limits" ADD COLUMN "unknown_max" bigint;--> statement-breakpoint
ALTER TABLE "limits" ADD COLUMN "fixed" boolean;