import { describe } from "bun:test";
import { postgresMissing } from "../../support/postgres.ts";
import { testCatalogStoresContract } from "../contract.ts";
import { createPostgresCatalog } from "./catalog-engine.ts";

describe.skipIf(postgresMissing !== null)("on PostgreSQL", () => {
  testCatalogStoresContract("postgres", createPostgresCatalog, 2);
});
