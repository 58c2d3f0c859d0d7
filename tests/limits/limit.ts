import type { Limit } from "#limits/limit.ts";

/** A limit of 1,000 requests an hour for everybody; a test overrides what it is about. */
export const LIMIT: Limit = {
  id: "limit-1",
  name: "all",
  subject: { kind: "everybody" },
  model: null,
  formerModels: [],
  each: null,
  measure: "requests",
  amount: 1_000n,
  window: "hour",
  action: "refuse",
  unpriced: "allow",
  unknownMax: null,
  fixed: false,
  enabled: true,
  createdAtUs: 0,
};

/** A limit of three requests a day for each value of the tag `team`. */
export const TEAMS: Limit = {
  ...LIMIT,
  id: "teams",
  name: "every team",
  each: { kind: "tag", key: "team" },
  amount: 3n,
  window: "day",
};
