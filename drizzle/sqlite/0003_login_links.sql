CREATE TABLE `login_links` (
	`token_hash` text PRIMARY KEY NOT NULL,
	`principal_id` text NOT NULL,
	`created_at_us` integer NOT NULL,
	`expires_at_us` integer NOT NULL,
	FOREIGN KEY (`principal_id`) REFERENCES `principals`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE INDEX `login_links_by_principal` ON `login_links` (`principal_id`);--> statement-breakpoint
CREATE INDEX `login_links_by_expiry` ON `login_links` (`expires_at_us`);