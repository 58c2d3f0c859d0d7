CREATE TABLE "price_inheritance" (
	"name" text COLLATE "C" NOT NULL,
	"from_us" bigint NOT NULL,
	"model_id" text COLLATE "C",
	"bound" text COLLATE "C",
	"upstream" text COLLATE "C",
	"own_units" text COLLATE "C" NOT NULL,
	"has_own_variants" boolean NOT NULL,
	CONSTRAINT "price_inheritance_name_from_us_pk" PRIMARY KEY("name","from_us"),
	CONSTRAINT "price_inheritance_own_units_array" CHECK (json_typeof(own_units::json) = 'array')
);

--> statement-breakpoint
CREATE INDEX "price_inheritance_by_model" ON "price_inheritance" USING btree ("model_id");
--> statement-breakpoint
CREATE INDEX "price_inheritance_by_bound" ON "price_inheritance" USING btree ("bound");
--> statement-breakpoint
CREATE INDEX "price_inheritance_by_upstream" ON "price_inheritance" USING btree ("upstream");
