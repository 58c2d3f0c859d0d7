import type { Deadlines } from "#kernel/deadlines.ts";
import { createDeadlines } from "#kernel/deadlines.ts";
import type { Accounts, AccountsDeps } from "./account.ts";
import { createAccounts } from "./account.ts";
import type { SlowConsumers } from "./slow-consumers.ts";
import { createSlowConsumers } from "./slow-consumers.ts";
import type { Upstream } from "./upstream.ts";
import { createUpstream } from "./upstream.ts";

/** What the data plane and the relay have in common. */
export interface Shared {
  readonly accounts: Accounts;
  readonly deadlines: Deadlines;
  readonly upstream: Upstream;
  readonly stalls: SlowConsumers;
  readonly isHalting: () => boolean;
  /** From now on a connection that ends was closed by the server, and its caller did not hang up. */
  halt(): void;
}

export function createShared(deps: AccountsDeps): Shared {
  const { clock } = deps;
  let halting = false;
  return {
    accounts: createAccounts(deps),
    deadlines: createDeadlines(() => clock.monotonicMs()),
    upstream: createUpstream(clock),
    stalls: createSlowConsumers({ monotonicMs: () => clock.monotonicMs() }),
    isHalting: () => halting,
    halt() {
      halting = true;
    },
  };
}
