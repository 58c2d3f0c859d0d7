CREATE TABLE `price_variants` (
	`name` text PRIMARY KEY NOT NULL,
	`variants` text NOT NULL,
	`feed_version` text,
	CONSTRAINT "price_variants_variants_array" CHECK(json_type(variants) = 'array')
);

