CREATE TABLE `pricing_feed` (
	`id` integer PRIMARY KEY NOT NULL,
	`version` text NOT NULL,
	`loaded_at_us` integer NOT NULL,
	CONSTRAINT "pricing_feed_one_row" CHECK("pricing_feed"."id" = 1),
	CONSTRAINT "pricing_feed_version_given" CHECK("pricing_feed"."version" <> '')
);
