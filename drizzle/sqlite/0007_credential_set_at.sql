ALTER TABLE `providers` ADD `credential_set_at_us` integer;
