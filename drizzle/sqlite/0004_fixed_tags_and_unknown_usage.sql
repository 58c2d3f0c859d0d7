ALTER TABLE `api_keys` ADD `tags` text;--> statement-breakpoint
ALTER TABLE `limits` ADD `unknown_max` integer;--> statement-breakpoint
ALTER TABLE `limits` ADD `fixed` integer;--> statement-breakpoint
ALTER TABLE `principals` ADD `tags` text;--> statement-breakpoint
ALTER TABLE `relay_tokens` ADD `tags` text;