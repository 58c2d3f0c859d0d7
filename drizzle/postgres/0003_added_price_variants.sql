CREATE TABLE "price_variants" (
	"name" text COLLATE "C" PRIMARY KEY NOT NULL,
	"variants" text COLLATE "C" NOT NULL,
	"feed_version" text COLLATE "C",
	CONSTRAINT "price_variants_variants_array" CHECK (json_typeof(variants::json) = 'array')
);

