import { CAPABILITIES } from "#catalog/capability.ts";

/** The examples of the document tell of one small installation through its requests and answers. */

export const INSTANT = "2026-03-11T12:00:00.000000Z";
/** Behind any day on which an example is sent. */
export const LATER = "2126-03-11T12:00:00.000000Z";
export const SINCE = "2026-03-01";

export const ID = {
  alice: "019cdd2a-7c00-7000-8000-000000000001",
  admin: "019cdd2a-7c00-7000-8000-000000000002",
  ownKey: "019cdd2a-7c00-7000-8000-000000000003",
  aliceKey: "019cdd2a-7c00-7000-8000-000000000004",
  ownToken: "019cdd2a-7c00-7000-8000-000000000005",
  aliceToken: "019cdd2a-7c00-7000-8000-000000000006",
  deployment: "019cdd2a-7c00-7000-8000-000000000007",
  request: "019cdd2a-7c00-7000-8000-000000000008",
  limit: "019cdd2a-7c00-7000-8000-000000000009",
  repricing: "019cdd2a-7c00-7000-8000-00000000000b",
  notice: "019cdd2a-7c00-7000-8000-00000000000a",
} as const;

/** These have the form of secrets and are none: they never gave access to anything. */
export const OWN_KEY = "lp_EXAMPLE0own0key0EXAMPLE0own0key0EXAMPLE0own";
export const ALICE_KEY = "lp_EXAMPLE0alice0key0EXAMPLE0alice0key0EXAMPLE";
export const RELAY_TOKEN = "lpt_EXAMPLE0relay0token0EXAMPLE0relay0token0EX";
export const LOGIN_TOKEN = "lpl_EXAMPLE0login0token0EXAMPLE0login0token0EX";
export const PASSWORD = "the password of the file admin-password";

export const ALICE = { id: ID.alice, name: "alice", kind: "user", role: "member" };
export const PROVIDER = {
  name: "openai",
  wire_format: "openai",
  base_url: "https://api.openai.com/v1",
  has_credential: true,
  verify_tls: true,
  has_custom_ca: false,
  timeout_connect: 10,
  timeout_read: 300,
  max_concurrency: null,
  enabled: true,
  created_at: INSTANT,
};
export const PRICING = { input_tokens: 2.5, output_tokens: 10, cached_input_tokens: 1.25 };
export const MODEL = {
  alias: "gpt",
  provider: "openai",
  upstream_name: "gpt-5",
  capabilities: CAPABILITIES.filter((capability) => capability !== "vision"),
  origin: "declared",
  created_at: INSTANT,
  target: null,
  pricing: PRICING,
  pricing_inherited: false,
  hidden: false,
};
export const PAGE = { limit: 100, offset: 0, total: 1 };
export const UNITS = { input_tokens: 1200, output_tokens: 300, cached_input_tokens: 800 };
export const TAGS = ["app:wiki", "team:search"];
export const CLIENT = "OpenAI/Python 1.99.0";
