ALTER TABLE `providers` ADD `former_credential` blob;
--> statement-breakpoint
ALTER TABLE `providers` ADD `former_set_at_us` integer;
--> statement-breakpoint
ALTER TABLE `providers` ADD `former_until_us` integer;
