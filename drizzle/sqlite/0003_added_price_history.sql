CREATE TABLE `price_history` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`name` text NOT NULL,
	`unit` text NOT NULL,
	`condition` text NOT NULL,
	`ordinal` integer NOT NULL,
	`price_pico` integer NOT NULL,
	`from_us` integer NOT NULL,
	`until_us` integer,
	`source` text NOT NULL,
	`version` text
);

--> statement-breakpoint
CREATE INDEX `price_history_by_name` ON `price_history` (`name`,`from_us`);
--> statement-breakpoint
CREATE INDEX `price_history_by_begin` ON `price_history` (`from_us`,`id`);
--> statement-breakpoint
CREATE INDEX `price_history_in_force` ON `price_history` (`name`,`unit`,`condition`) WHERE until_us IS NULL;
