ALTER TABLE "price_history" ADD COLUMN "superseded_us" bigint;
