CREATE TABLE `notice_marks` (
	`name` text PRIMARY KEY NOT NULL,
	`until_us` integer NOT NULL
);
--> statement-breakpoint
CREATE INDEX `notice_marks_by_end` ON `notice_marks` (`until_us`);--> statement-breakpoint
CREATE TABLE `notices` (
	`sequence` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`body` text NOT NULL
);
--> statement-breakpoint
CREATE INDEX `api_keys_by_expiry` ON `api_keys` (`expires_at_us`) WHERE "api_keys"."expires_at_us" IS NOT NULL;--> statement-breakpoint
CREATE INDEX `relay_tokens_by_expiry` ON `relay_tokens` (`expires_at_us`) WHERE "relay_tokens"."expires_at_us" IS NOT NULL;