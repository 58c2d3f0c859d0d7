CREATE TABLE `api_keys` (
	`id` text PRIMARY KEY NOT NULL,
	`principal_id` text NOT NULL,
	`hash` text NOT NULL,
	`suffix` text NOT NULL,
	`label` text NOT NULL,
	`created_at_us` integer NOT NULL,
	`expires_at_us` integer,
	`models` text,
	`paused_by` text,
	`admin_expires_at_us` integer,
	`admin_models` text,
	`former_hash` text,
	`former_until_us` integer,
	`tags` text,
	FOREIGN KEY (`principal_id`) REFERENCES `principals`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE UNIQUE INDEX `api_keys_hash_unique` ON `api_keys` (`hash`);--> statement-breakpoint
CREATE UNIQUE INDEX `api_keys_former_hash_unique` ON `api_keys` (`former_hash`);--> statement-breakpoint
CREATE INDEX `api_keys_by_principal` ON `api_keys` (`principal_id`,`created_at_us`,`id`);--> statement-breakpoint
CREATE INDEX `api_keys_by_creation` ON `api_keys` (`created_at_us`,`id`);--> statement-breakpoint
CREATE INDEX `api_keys_by_expiry` ON `api_keys` (`expires_at_us`) WHERE expires_at_us IS NOT NULL;--> statement-breakpoint
CREATE TABLE `audit_events` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`at_us` integer NOT NULL,
	`actor_principal_id` text NOT NULL,
	`action` text NOT NULL,
	`target_kind` text NOT NULL,
	`target_ref` text NOT NULL
);
--> statement-breakpoint
CREATE TABLE `catalog_state` (
	`id` integer PRIMARY KEY NOT NULL,
	`version` integer NOT NULL,
	`token` text NOT NULL
);
--> statement-breakpoint
CREATE TABLE `change_log` (
	`version` integer NOT NULL,
	`ordinal` integer NOT NULL,
	`token` text NOT NULL,
	`kind` text NOT NULL,
	`row_id` text,
	PRIMARY KEY(`version`, `ordinal`)
);
--> statement-breakpoint
CREATE TABLE `kept_responses` (
	`id_hash` text NOT NULL,
	`principal_id` text NOT NULL,
	`model_id` text NOT NULL,
	`provider_id` text NOT NULL,
	`event_id` integer NOT NULL,
	`event_lane` integer NOT NULL,
	`is_settled` integer NOT NULL,
	`expires_at_us` integer NOT NULL,
	PRIMARY KEY(`id_hash`, `principal_id`),
	CONSTRAINT "kept_responses_is_settled_boolean" CHECK(is_settled IN (0, 1))
);
--> statement-breakpoint
CREATE INDEX `kept_responses_by_expiry` ON `kept_responses` (`is_settled`,`expires_at_us`);--> statement-breakpoint
CREATE INDEX `kept_responses_unsettled` ON `kept_responses` (`principal_id`) WHERE NOT is_settled;--> statement-breakpoint
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
	`unknown_max` integer,
	`fixed` integer NOT NULL,
	FOREIGN KEY (`principal_id`) REFERENCES `principals`(`id`) ON UPDATE no action ON DELETE cascade,
	FOREIGN KEY (`key_id`) REFERENCES `api_keys`(`id`) ON UPDATE no action ON DELETE cascade,
	FOREIGN KEY (`relay_token_id`) REFERENCES `relay_tokens`(`id`) ON UPDATE no action ON DELETE cascade,
	CONSTRAINT "limits_name_given" CHECK(name <> ''),
	CONSTRAINT "limits_former_models_array" CHECK(json_type(former_models) = 'array'),
	CONSTRAINT "limits_one_subject" CHECK(CASE WHEN principal_id IS NULL THEN 0 ELSE 1 END + CASE WHEN key_id IS NULL THEN 0 ELSE 1 END + CASE WHEN relay_token_id IS NULL THEN 0 ELSE 1 END + CASE WHEN tag IS NULL THEN 0 ELSE 1 END <= 1),
	CONSTRAINT "limits_window_but_for_concurrent" CHECK(("window" IS NULL) = (measure = 'concurrent')),
	CONSTRAINT "limits_enabled_boolean" CHECK(enabled IN (0, 1)),
	CONSTRAINT "limits_fixed_boolean" CHECK(fixed IN (0, 1))
);
--> statement-breakpoint
CREATE UNIQUE INDEX `limits_name_unique` ON `limits` (`name`);--> statement-breakpoint
CREATE INDEX `limits_by_principal` ON `limits` (`principal_id`);--> statement-breakpoint
CREATE INDEX `limits_by_key` ON `limits` (`key_id`);--> statement-breakpoint
CREATE INDEX `limits_by_relay_token` ON `limits` (`relay_token_id`);--> statement-breakpoint
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
	CONSTRAINT "models_alias_given" CHECK(alias <> ''),
	CONSTRAINT "models_origin_known" CHECK(origin IN ('declared', 'discovered')),
	CONSTRAINT "models_one_route" CHECK(CASE WHEN target_id IS NULL
        THEN provider_id IS NOT NULL AND upstream_name IS NOT NULL AND coalesce(json_type(capabilities), '') = 'array'
        ELSE provider_id IS NULL AND upstream_name IS NULL AND capabilities IS NULL AND target_id <> id
      END),
	CONSTRAINT "models_hidden_boolean" CHECK(hidden IN (0, 1))
);
--> statement-breakpoint
CREATE UNIQUE INDEX `models_alias_unique` ON `models` (`alias`);--> statement-breakpoint
CREATE INDEX `models_by_provider` ON `models` (`provider_id`);--> statement-breakpoint
CREATE INDEX `models_by_target` ON `models` (`target_id`);--> statement-breakpoint
CREATE TABLE `notice_marks` (
	`name` text PRIMARY KEY NOT NULL,
	`until_us` integer NOT NULL
);
--> statement-breakpoint
CREATE INDEX `notice_marks_by_end` ON `notice_marks` (`until_us`);--> statement-breakpoint
CREATE TABLE `notices` (
	`sequence` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`body` text NOT NULL
);
--> statement-breakpoint
CREATE TABLE `oidc_subject` (
	`issuer` text NOT NULL,
	`subject` text NOT NULL,
	`principal_id` text NOT NULL,
	PRIMARY KEY(`issuer`, `subject`),
	FOREIGN KEY (`principal_id`) REFERENCES `principals`(`id`) ON UPDATE no action ON DELETE cascade,
	CONSTRAINT "oidc_subject_issuer_given" CHECK(issuer <> ''),
	CONSTRAINT "oidc_subject_subject_given" CHECK(subject <> '')
);
--> statement-breakpoint
CREATE INDEX `oidc_subject_by_principal` ON `oidc_subject` (`principal_id`);--> statement-breakpoint
CREATE TABLE `prices` (
	`name` text NOT NULL,
	`unit` text NOT NULL,
	`price_pico` integer,
	`feed_version` text,
	PRIMARY KEY(`name`, `unit`),
	CONSTRAINT "prices_not_negative" CHECK(price_pico IS NULL OR price_pico >= 0)
);
--> statement-breakpoint
CREATE TABLE `pricing_feed` (
	`id` integer PRIMARY KEY NOT NULL,
	`version` text NOT NULL,
	`loaded_at_us` integer NOT NULL,
	CONSTRAINT "pricing_feed_version_given" CHECK(version <> ''),
	CONSTRAINT "pricing_feed_one_row" CHECK(id = 1)
);
--> statement-breakpoint
CREATE TABLE `principals` (
	`id` text PRIMARY KEY NOT NULL,
	`name` text NOT NULL,
	`kind` text NOT NULL,
	`role` text NOT NULL,
	`enabled` integer NOT NULL,
	`created_at_us` integer NOT NULL,
	`tags` text,
	CONSTRAINT "principals_name_given" CHECK(name <> ''),
	CONSTRAINT "principals_kind_known" CHECK(kind IN ('user', 'service')),
	CONSTRAINT "principals_role_known" CHECK(role IN ('member', 'admin')),
	CONSTRAINT "principals_enabled_boolean" CHECK(enabled IN (0, 1))
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
	`auth_style` text NOT NULL,
	CONSTRAINT "providers_name_given" CHECK(name <> ''),
	CONSTRAINT "providers_wire_format_known" CHECK(wire_format IN ('openai')),
	CONSTRAINT "providers_endpoints_object" CHECK(json_type(endpoints) = 'object'),
	CONSTRAINT "providers_timeouts_positive" CHECK(timeout_connect_seconds > 0 AND timeout_read_seconds > 0),
	CONSTRAINT "providers_max_concurrency_positive" CHECK(max_concurrency IS NULL OR max_concurrency > 0),
	CONSTRAINT "providers_verify_tls_boolean" CHECK(verify_tls IN (0, 1)),
	CONSTRAINT "providers_enabled_boolean" CHECK(enabled IN (0, 1))
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
	`expires_at_us` integer,
	`models` text,
	`paused_by` text,
	`admin_expires_at_us` integer,
	`admin_models` text,
	`former_hash` text,
	`former_until_us` integer,
	`tags` text,
	FOREIGN KEY (`principal_id`) REFERENCES `principals`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE UNIQUE INDEX `relay_tokens_hash_unique` ON `relay_tokens` (`hash`);--> statement-breakpoint
CREATE UNIQUE INDEX `relay_tokens_former_hash_unique` ON `relay_tokens` (`former_hash`);--> statement-breakpoint
CREATE INDEX `relay_tokens_by_principal` ON `relay_tokens` (`principal_id`,`created_at_us`,`id`);--> statement-breakpoint
CREATE INDEX `relay_tokens_by_creation` ON `relay_tokens` (`created_at_us`,`id`);--> statement-breakpoint
CREATE INDEX `relay_tokens_by_expiry` ON `relay_tokens` (`expires_at_us`) WHERE expires_at_us IS NOT NULL;--> statement-breakpoint
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
--> statement-breakpoint
INSERT INTO `catalog_state` (`id`, `version`, `token`) VALUES (1, 0, lower(hex(randomblob(16))));
--> statement-breakpoint
INSERT INTO `change_log` (`version`, `ordinal`, `token`, `kind`) SELECT `version`, 0, `token`, 'catalog' FROM `catalog_state`;
