CREATE TABLE `price_inheritance` (
	`name` text NOT NULL,
	`from_us` integer NOT NULL,
	`model_id` text,
	`bound` text,
	`upstream` text,
	`own_units` text NOT NULL,
	`has_own_variants` integer NOT NULL,
	PRIMARY KEY(`name`, `from_us`),
	CONSTRAINT "price_inheritance_own_units_array" CHECK(json_type(own_units) = 'array'),
	CONSTRAINT "price_inheritance_has_own_variants_boolean" CHECK(has_own_variants IN (0, 1))
);

--> statement-breakpoint
CREATE INDEX `price_inheritance_by_model` ON `price_inheritance` (`model_id`);
--> statement-breakpoint
CREATE INDEX `price_inheritance_by_bound` ON `price_inheritance` (`bound`);
--> statement-breakpoint
CREATE INDEX `price_inheritance_by_upstream` ON `price_inheritance` (`upstream`);
