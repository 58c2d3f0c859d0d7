CREATE TABLE `price_schedule` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`at_us` integer NOT NULL,
	`change` text NOT NULL,
	CONSTRAINT "price_schedule_change_object" CHECK(json_type(change) = 'object')
);

--> statement-breakpoint
CREATE INDEX `price_schedule_by_moment` ON `price_schedule` (`at_us`,`id`);
