import { type Caller, Cancellation } from "#kernel/cancellation.ts";
import { createDeadlines } from "#kernel/deadlines.ts";
import { Turns } from "#kernel/turns.ts";
import { Accounts, type AccountsDeps } from "./account.ts";
import { type SlowConsumers, createSlowConsumers } from "./slow-consumers.ts";
import { Upstream } from "./upstream.ts";

/** What the data plane and the relay have in common. */
export interface Shared {
  readonly accounts: Accounts;
  readonly upstream: Upstream;
  readonly stalls: SlowConsumers;
  /** Exchanges whose answer has come to its end. */
  readonly ends: Turns;
  /** For one request; its caller is watched once it lasts. */
  openCancellation(caller: Caller): Cancellation;
  /** From now on a connection that ends was closed by the server, and its caller did not hang up. */
  halt(): void;
}

export function createShared(deps: AccountsDeps): Shared {
  const { clock } = deps;
  const monotonicMs = () => clock.monotonicMs();
  let halting = false;
  const options = {
    limits: createDeadlines(monotonicMs),
    lasting: createDeadlines(monotonicMs),
    isHalting: () => halting,
  };
  return {
    accounts: new Accounts(deps),
    upstream: new Upstream(clock),
    stalls: createSlowConsumers({ monotonicMs }),
    ends: new Turns(),
    openCancellation: (caller) => new Cancellation(caller, options),
    halt() {
      halting = true;
    },
  };
}
