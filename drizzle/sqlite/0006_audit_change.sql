ALTER TABLE `audit_events` ADD `change` text;
