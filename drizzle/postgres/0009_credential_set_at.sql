ALTER TABLE "providers" ADD COLUMN "credential_set_at_us" bigint;
