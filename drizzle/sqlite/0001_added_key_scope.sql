ALTER TABLE `api_keys` ADD `scoped_by` text;
--> statement-breakpoint
ALTER TABLE `relay_tokens` ADD `scoped_by` text;
