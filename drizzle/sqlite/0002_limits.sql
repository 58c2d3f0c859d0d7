CREATE TABLE `limits` (
	`id` text PRIMARY KEY NOT NULL,
	`name` text NOT NULL,
	`principal_id` text,
	`key_id` text,
	`relay_token_id` text,
	`tag` text,
	`model` text,
	`former_models` text NOT NULL,
	`each` text,
	`measure` text NOT NULL,
	`amount` text NOT NULL,
	`window` text,
	`action` text NOT NULL,
	`unpriced` text NOT NULL,
	`enabled` integer NOT NULL,
	`created_at_us` integer NOT NULL,
	FOREIGN KEY (`principal_id`) REFERENCES `principals`(`id`) ON UPDATE no action ON DELETE cascade,
	FOREIGN KEY (`key_id`) REFERENCES `api_keys`(`id`) ON UPDATE no action ON DELETE cascade,
	FOREIGN KEY (`relay_token_id`) REFERENCES `relay_tokens`(`id`) ON UPDATE no action ON DELETE cascade,
	CONSTRAINT "limits_name_given" CHECK("limits"."name" <> ''),
	CONSTRAINT "limits_one_subject" CHECK(("limits"."principal_id" IS NOT NULL) + ("limits"."key_id" IS NOT NULL) + ("limits"."relay_token_id" IS NOT NULL) + ("limits"."tag" IS NOT NULL) <= 1),
	CONSTRAINT "limits_former_models_array" CHECK(json_type("limits"."former_models") = 'array'),
	CONSTRAINT "limits_window_but_for_concurrent" CHECK(("limits"."window" IS NULL) = ("limits"."measure" = 'concurrent')),
	CONSTRAINT "limits_enabled_boolean" CHECK("limits"."enabled" IN (0, 1))
);
--> statement-breakpoint
CREATE UNIQUE INDEX `limits_name_unique` ON `limits` (`name`);--> statement-breakpoint
CREATE INDEX `limits_by_principal` ON `limits` (`principal_id`);--> statement-breakpoint
CREATE INDEX `limits_by_key` ON `limits` (`key_id`);--> statement-breakpoint
CREATE INDEX `limits_by_relay_token` ON `limits` (`relay_token_id`);