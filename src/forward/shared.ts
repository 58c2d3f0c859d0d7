import type { Deadlines } from "#kernel/deadlines.ts";
import { createDeadlines } from "#kernel/deadlines.ts";
import type { Accounts, AccountsDeps } from "./account.ts";
import { createAccounts } from "./account.ts";
import type { Upstream } from "./upstream.ts";
import { createUpstream } from "./upstream.ts";

/** What all requests that go upstream have in common, by whichever door they came. */
export interface Shared {
  readonly accounts: Accounts;
  readonly deadlines: Deadlines;
  readonly upstream: Upstream;
}

export function createShared(deps: AccountsDeps): Shared {
  const { clock } = deps;
  return {
    accounts: createAccounts(deps),
    deadlines: createDeadlines(() => clock.monotonicMs()),
    upstream: createUpstream(clock),
  };
}
