import { type Deadlines, createDeadlines } from "#kernel/deadlines.ts";
import { type Accounts, type AccountsDeps, createAccounts } from "./account.ts";
import { type SlowConsumers, createSlowConsumers } from "./slow-consumers.ts";
import { type Upstream, createUpstream } from "./upstream.ts";

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
