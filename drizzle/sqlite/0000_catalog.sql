CREATE TABLE `api_keys` (
	`id` text PRIMARY KEY NOT NULL,
	`principal_id` text NOT NULL,
	`hash` text NOT NULL,
	`suffix` text NOT NULL,
	`label` text NOT NULL,
	`created_at_us` integer NOT NULL,
	FOREIGN KEY (`principal_id`) REFERENCES `principals`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE UNIQUE INDEX `api_keys_hash_unique` ON `api_keys` (`hash`);--> statement-breakpoint
CREATE INDEX `api_keys_by_principal` ON `api_keys` (`principal_id`,`created_at_us`,`id`);--> statement-breakpoint
CREATE INDEX `api_keys_by_creation` ON `api_keys` (`created_at_us`,`id`);--> statement-breakpoint
CREATE TABLE `audit_events` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`at_us` integer NOT NULL,
	`actor_principal_id` text NOT NULL,
	`action` text NOT NULL,
	`target_kind` text NOT NULL,
	`target_ref` text NOT NULL
);
--> statement-breakpoint
CREATE TABLE `login_links` (
	`token_hash` text PRIMARY KEY NOT NULL,
	`principal_id` text NOT NULL,
	`created_at_us` integer NOT NULL,
	`expires_at_us` integer NOT NULL,
	FOREIGN KEY (`principal_id`) REFERENCES `principals`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE INDEX `login_links_by_principal` ON `login_links` (`principal_id`);--> statement-breakpoint
CREATE INDEX `login_links_by_expiry` ON `login_links` (`expires_at_us`);--> statement-breakpoint
CREATE TABLE `meta` (
	`key` text PRIMARY KEY NOT NULL,
	`value` text NOT NULL
);
--> statement-breakpoint
CREATE TABLE `models` (
	`id` text PRIMARY KEY NOT NULL,
	`alias` text NOT NULL,
	`provider_id` text,
	`upstream_name` text,
	`capabilities` text,
	`target_id` text,
	`origin` text NOT NULL,
	`hidden` integer NOT NULL,
	`created_at_us` integer NOT NULL,
	FOREIGN KEY (`provider_id`) REFERENCES `providers`(`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`target_id`) REFERENCES `models`(`id`) ON UPDATE no action ON DELETE no action,
	CONSTRAINT "models_alias_given" CHECK("models"."alias" <> ''),
	CONSTRAINT "models_one_route" CHECK(CASE WHEN "models"."target_id" IS NULL
        THEN "models"."provider_id" IS NOT NULL AND "models"."upstream_name" IS NOT NULL AND json_type("models"."capabilities") IS 'array'
        ELSE "models"."provider_id" IS NULL AND "models"."upstream_name" IS NULL AND "models"."capabilities" IS NULL AND "models"."target_id" <> "models"."id"
      END),
	CONSTRAINT "models_origin_known" CHECK("models"."origin" IN ('declared', 'discovered')),
	CONSTRAINT "models_hidden_boolean" CHECK("models"."hidden" IN (0, 1))
);
--> statement-breakpoint
CREATE UNIQUE INDEX `models_alias_unique` ON `models` (`alias`);--> statement-breakpoint
CREATE INDEX `models_by_provider` ON `models` (`provider_id`);--> statement-breakpoint
CREATE INDEX `models_by_target` ON `models` (`target_id`);--> statement-breakpoint
CREATE TABLE `oidc_subject` (
	`issuer` text NOT NULL,
	`subject` text NOT NULL,
	`principal_id` text NOT NULL,
	PRIMARY KEY(`issuer`, `subject`),
	FOREIGN KEY (`principal_id`) REFERENCES `principals`(`id`) ON UPDATE no action ON DELETE cascade,
	CONSTRAINT "oidc_subject_given" CHECK("oidc_subject"."issuer" <> '' AND "oidc_subject"."subject" <> '')
);
--> statement-breakpoint
CREATE INDEX `oidc_subject_by_principal` ON `oidc_subject` (`principal_id`);--> statement-breakpoint
CREATE TABLE `prices` (
	`name` text NOT NULL,
	`unit` text NOT NULL,
	`price_pico` integer,
	`feed_version` text,
	PRIMARY KEY(`name`, `unit`),
	CONSTRAINT "prices_not_negative" CHECK("prices"."price_pico" IS NULL OR "prices"."price_pico" >= 0)
);
--> statement-breakpoint
CREATE TABLE `pricing_feed` (
	`id` integer PRIMARY KEY NOT NULL,
	`version` text NOT NULL,
	`loaded_at_us` integer NOT NULL,
	CONSTRAINT "pricing_feed_one_row" CHECK("pricing_feed"."id" = 1),
	CONSTRAINT "pricing_feed_version_given" CHECK("pricing_feed"."version" <> '')
);
--> statement-breakpoint
CREATE TABLE `principals` (
	`id` text PRIMARY KEY NOT NULL,
	`name` text NOT NULL,
	`kind` text NOT NULL,
	`role` text NOT NULL,
	`enabled` integer NOT NULL,
	`created_at_us` integer NOT NULL,
	CONSTRAINT "principals_name_given" CHECK("principals"."name" <> ''),
	CONSTRAINT "principals_kind_known" CHECK("principals"."kind" IN ('user', 'service')),
	CONSTRAINT "principals_role_known" CHECK("principals"."role" IN ('member', 'admin')),
	CONSTRAINT "principals_enabled_boolean" CHECK("principals"."enabled" IN (0, 1))
);
--> statement-breakpoint
CREATE UNIQUE INDEX `principals_name_unique` ON `principals` (`name`);--> statement-breakpoint
CREATE TABLE `providers` (
	`id` text PRIMARY KEY NOT NULL,
	`name` text NOT NULL,
	`wire_format` text NOT NULL,
	`base_url` text NOT NULL,
	`endpoints` text NOT NULL,
	`sealed_credential` blob,
	`verify_tls` integer NOT NULL,
	`ca_pem` text,
	`timeout_connect_seconds` real NOT NULL,
	`timeout_read_seconds` real NOT NULL,
	`max_concurrency` integer,
	`enabled` integer NOT NULL,
	`created_at_us` integer NOT NULL,
	CONSTRAINT "providers_name_given" CHECK("providers"."name" <> ''),
	CONSTRAINT "providers_wire_format_known" CHECK("providers"."wire_format" IN ('openai')),
	CONSTRAINT "providers_endpoints_object" CHECK(json_type("providers"."endpoints") = 'object'),
	CONSTRAINT "providers_verify_tls_boolean" CHECK("providers"."verify_tls" IN (0, 1)),
	CONSTRAINT "providers_timeouts_positive" CHECK("providers"."timeout_connect_seconds" > 0 AND "providers"."timeout_read_seconds" > 0),
	CONSTRAINT "providers_max_concurrency_positive" CHECK("providers"."max_concurrency" IS NULL OR "providers"."max_concurrency" > 0),
	CONSTRAINT "providers_enabled_boolean" CHECK("providers"."enabled" IN (0, 1))
);
--> statement-breakpoint
CREATE UNIQUE INDEX `providers_name_unique` ON `providers` (`name`);--> statement-breakpoint
CREATE TABLE `relay_tokens` (
	`id` text PRIMARY KEY NOT NULL,
	`principal_id` text NOT NULL,
	`hash` text NOT NULL,
	`suffix` text NOT NULL,
	`label` text NOT NULL,
	`created_at_us` integer NOT NULL,
	FOREIGN KEY (`principal_id`) REFERENCES `principals`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE UNIQUE INDEX `relay_tokens_hash_unique` ON `relay_tokens` (`hash`);--> statement-breakpoint
CREATE INDEX `relay_tokens_by_principal` ON `relay_tokens` (`principal_id`,`created_at_us`,`id`);--> statement-breakpoint
CREATE INDEX `relay_tokens_by_creation` ON `relay_tokens` (`created_at_us`,`id`);--> statement-breakpoint
CREATE TABLE `sessions` (
	`token_hash` text PRIMARY KEY NOT NULL,
	`principal_id` text NOT NULL,
	`created_at_us` integer NOT NULL,
	`expires_at_us` integer NOT NULL,
	FOREIGN KEY (`principal_id`) REFERENCES `principals`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE INDEX `sessions_by_principal` ON `sessions` (`principal_id`);--> statement-breakpoint
CREATE INDEX `sessions_by_expiry` ON `sessions` (`expires_at_us`);