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
CREATE INDEX `relay_tokens_by_creation` ON `relay_tokens` (`created_at_us`,`id`);