ALTER TABLE `api_keys` ADD `expires_at_us` integer;--> statement-breakpoint
ALTER TABLE `api_keys` ADD `models` text;--> statement-breakpoint
ALTER TABLE `api_keys` ADD `paused_by` text;--> statement-breakpoint
ALTER TABLE `api_keys` ADD `admin_expires_at_us` integer;--> statement-breakpoint
ALTER TABLE `api_keys` ADD `admin_models` text;--> statement-breakpoint
ALTER TABLE `api_keys` ADD `former_hash` text;--> statement-breakpoint
ALTER TABLE `api_keys` ADD `former_until_us` integer;--> statement-breakpoint
CREATE UNIQUE INDEX `api_keys_former_hash_unique` ON `api_keys` (`former_hash`);--> statement-breakpoint
ALTER TABLE `relay_tokens` ADD `expires_at_us` integer;--> statement-breakpoint
ALTER TABLE `relay_tokens` ADD `models` text;--> statement-breakpoint
ALTER TABLE `relay_tokens` ADD `paused_by` text;--> statement-breakpoint
ALTER TABLE `relay_tokens` ADD `admin_expires_at_us` integer;--> statement-breakpoint
ALTER TABLE `relay_tokens` ADD `admin_models` text;--> statement-breakpoint
ALTER TABLE `relay_tokens` ADD `former_hash` text;--> statement-breakpoint
ALTER TABLE `relay_tokens` ADD `former_until_us` integer;--> statement-breakpoint
CREATE UNIQUE INDEX `relay_tokens_former_hash_unique` ON `relay_tokens` (`former_hash`);