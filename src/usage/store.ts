import { ProxyError } from "#kernel/errors.ts";
import type { EventOrigin } from "#kernel/ids.ts";
import type { FoundEvent, Settlement, UsageEnding, UsageBeginning } from "./event.ts";

/**
 * Where responses wait for the database, it did not confirm an event in time. The event is in the journal; a response that
 * ended well would be one that a lost machine takes from the ledger.
 */
export class UnconfirmedUsage extends ProxyError {
  constructor() {
    super("internal_error", "The database did not confirm the usage event in time.", { isLogged: true });
  }
}

/** A request between its dispatch and its end. Ending it twice is a bug and throws. */
export interface OpenUsage {
  /**
   * Its answer is in the background, and found by its id: where a kill cuts it off its event is pending from then on.
   * Fulfilled when that survives a kill. Changes nothing once it has ended.
   */
  background(): Promise<void>;
  /**
   * Writes the event down for good. When the promise is fulfilled the event survives a kill of the process
   * (and, with `PROXY_LEDGER_SYNC=request`, a loss of power). Must be fulfilled before the response ends. Rejects with
   * `UnconfirmedUsage` when the response must not end well. `named`: the request under the model that its answer named, where it
   * began without one.
   */
  end(ending: UsageEnding, named?: UsageBeginning): Promise<void>;
}

/** The ledger's door for the data plane: exactly one event per opened request, whatever happens in between. */
export interface UsageLedger {
  /**
   * Notes that a request is about to go upstream, so that it is accounted for even when the process is killed before
   * its end. It goes upstream only when `written` is fulfilled. Throws `internal_error` when the ledger cannot take another event (disk full and buffer used up).
   */
  open(subject: UsageBeginning): OpenUsage;
  /**
   * Writes down how a pending event ended; fulfilled as the `end` of a request is. An event that is not pending any more stays
   * as it is, so that it may be called again; one that is not in the ledger yet is settled when it comes. Throws
   * `internal_error` when the ledger cannot take it.
   */
  settle(settlement: Settlement): Promise<void>;
  /** Looks for an event after everything that has ended before. Rejects when the ledger cannot be read. */
  findEvent(event: EventOrigin): Promise<FoundEvent>;
  /** Fulfilled when everything opened and ended so far survives a kill of the process: once for all that goes on together. */
  written(): Promise<void>;
  /** Fulfilled when everything ended before this call can be read from the reports. */
  flush(): Promise<void>;
  /** Takes nothing new, waits for the ends of what was opened, flushes and lets go of the files. */
  close(): Promise<void>;
}

/** Hears of each event that was written, in the turn in which its end goes to the ledger. */
export interface UsageWatch {
  /** `providerName` is the provider's name in metrics. Takes a microsecond at most; never throws. */
  ended(request: UsageBeginning, providerName: string, ending: UsageEnding): void;
  /** Hears of each pending event that is settled here; otherwise as `ended`. */
  settled(request: UsageBeginning, providerName: string, ending: UsageEnding): void;
}
