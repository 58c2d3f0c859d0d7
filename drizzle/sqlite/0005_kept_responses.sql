CREATE TABLE `kept_responses` (
	`id_hash` text NOT NULL,
	`principal_id` text NOT NULL,
	`model_id` text NOT NULL,
	`provider_id` text NOT NULL,
	`event_id` integer NOT NULL,
	`event_lane` integer NOT NULL,
	`is_settled` integer NOT NULL,
	`expires_at_us` integer NOT NULL,
	PRIMARY KEY(`id_hash`, `principal_id`),
	CONSTRAINT "kept_responses_settled_boolean" CHECK("kept_responses"."is_settled" IN (0, 1))
);
--> statement-breakpoint
CREATE INDEX `kept_responses_by_expiry` ON `kept_responses` (`is_settled`,`expires_at_us`);--> statement-breakpoint
CREATE INDEX `kept_responses_unsettled` ON `kept_responses` (`principal_id`) WHERE "kept_responses"."is_settled" = 0;