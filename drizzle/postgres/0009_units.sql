ALTER TABLE event ADD COLUMN input_audio_tokens double precision;
--> statement-breakpoint
ALTER TABLE event ADD COLUMN input_image_tokens double precision;
--> statement-breakpoint
ALTER TABLE event ADD COLUMN output_audio_tokens double precision;
--> statement-breakpoint
ALTER TABLE event ADD COLUMN images double precision;
--> statement-breakpoint
ALTER TABLE event ADD COLUMN search_units double precision;
--> statement-breakpoint
ALTER TABLE event ADD COLUMN web_searches double precision;
--> statement-breakpoint
ALTER TABLE event ADD COLUMN requests double precision;
--> statement-breakpoint
ALTER TABLE hour_total ADD COLUMN images double precision;
--> statement-breakpoint
ALTER TABLE hour_total ADD COLUMN search_units double precision;
--> statement-breakpoint
ALTER TABLE hour_total ADD COLUMN web_searches double precision;
--> statement-breakpoint
ALTER TABLE hour_total ADD COLUMN priced_by_request double precision;
--> statement-breakpoint
ALTER TABLE day_total ADD COLUMN images double precision;
--> statement-breakpoint
ALTER TABLE day_total ADD COLUMN search_units double precision;
--> statement-breakpoint
ALTER TABLE day_total ADD COLUMN web_searches double precision;
--> statement-breakpoint
ALTER TABLE day_total ADD COLUMN priced_by_request double precision;
--> statement-breakpoint
ALTER TABLE sealed_day_total ADD COLUMN images double precision;
--> statement-breakpoint
ALTER TABLE sealed_day_total ADD COLUMN search_units double precision;
--> statement-breakpoint
ALTER TABLE sealed_day_total ADD COLUMN web_searches double precision;
--> statement-breakpoint
ALTER TABLE sealed_day_total ADD COLUMN priced_by_request double precision;
--> statement-breakpoint
ALTER TABLE month_total ADD COLUMN images double precision;
--> statement-breakpoint
ALTER TABLE month_total ADD COLUMN search_units double precision;
--> statement-breakpoint
ALTER TABLE month_total ADD COLUMN web_searches double precision;
--> statement-breakpoint
ALTER TABLE month_total ADD COLUMN priced_by_request double precision;
--> statement-breakpoint
ALTER TABLE dimension_total ADD COLUMN images double precision;
--> statement-breakpoint
ALTER TABLE dimension_total ADD COLUMN search_units double precision;
--> statement-breakpoint
ALTER TABLE dimension_total ADD COLUMN web_searches double precision;
--> statement-breakpoint
ALTER TABLE dimension_total ADD COLUMN priced_by_request double precision;
