ALTER TABLE `price_history` ADD `superseded_us` integer;
