CREATE TABLE "kept_responses" (
	"id_hash" text COLLATE "C" NOT NULL,
	"principal_id" text COLLATE "C" NOT NULL,
	"model_id" text COLLATE "C" NOT NULL,
	"provider_id" text COLLATE "C" NOT NULL,
	"event_id" bigint NOT NULL,
	"event_lane" bigint NOT NULL,
	"is_settled" boolean NOT NULL,
	"expires_at_us" bigint NOT NULL,
	CONSTRAINT "kept_responses_id_hash_principal_id_pk" PRIMARY KEY("id_hash","principal_id")
);
--> statement-breakpoint
CREATE INDEX "kept_responses_by_expiry" ON "kept_responses" USING btree ("is_settled","expires_at_us");--> statement-breakpoint
CREATE INDEX "kept_responses_unsettled" ON "kept_responses" USING btree ("principal_id") WHERE NOT "kept_responses"."is_settled";