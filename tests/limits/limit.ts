import type { Limit } from "#limits/limit.ts";

/** Of everybody, 1,000 requests an hour; a test says what of it is another. */
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

/** Of each value of the tag `team`, three requests a day. */
export const TEAMS: Limit = {
  ...LIMIT,
  id: "teams",
  name: "every team",
  each: { kind: "tag", key: "team" },
  amount: 3n,
  window: "day",
};
