import { sleep } from "#kernel/timer.ts";
import { StatementError } from "./errors.ts";
import { type Call, createSql, type Lease, type Sql, toServerLimit } from "./pool.ts";
import type { Binding } from "./values.ts";

export interface Transaction extends Sql {
  /**
   * The rows of an answer of any length in parts, through a cursor: the next part is asked for when the one before is done.
   *
   *     for await (const rows of tx.parts<Row>({ text, bindings, rowsPerFetch: 5_000 })) …
   */
  parts<Row>(query: CursorQuery): AsyncGenerator<readonly Row[]>;
}

export interface CursorQuery {
  readonly text: string;
  readonly bindings?: readonly Binding[];
  readonly rowsPerFetch: number;
}

export interface TransactionOptions {
  readonly isReadOnly?: boolean;
  /** Default `read committed`. */
  readonly isolation?: "read committed" | "repeatable read";
  /** Limit of each call within it, in place of the connection's. */
  readonly callMsMax?: number;
  /** Ends the statement under way on the server; it and all later ones fail with SQLSTATE 57014. */
  readonly signal?: AbortSignal;
}

/** BEGIN takes no time, and a connection that a partition has cut off is found out by it: it does not wait as a long statement may. */
type Limited = TransactionOptions & { readonly callMsMax: number; readonly beginMsMax: number };

const READER_IDLE_MS_MAX = 60_000;
/** A statement that is still on its way when the server is asked to end it runs all the same: it is asked again so often. */
const CANCEL_INTERVAL_MS = 100;
const CANCELS_MAX = 50;
/** SQLSTATE in_failed_sql_transaction. */
const FAILED_TRANSACTION = "25P02";

/**
 * BEGIN, `step`, COMMIT. A COMMIT whose answer was lost throws a DatabaseUnreachableError with `mayBeCommitted`; after any
 * other error nothing was made.
 */
export async function runTransaction<R>(
  lease: Lease,
  step: (tx: Transaction) => Promise<R>,
  options: Limited,
): Promise<R> {
  const { beginMsMax, callMsMax, signal, isReadOnly = false } = options;
  let isOver = false;
  // Before BEGIN: what asks for its process would be the first look of the transaction, and its moment.
  const cancel = signal === undefined ? null : await lease.canceler();
  await lease.execute({
    text: toBegin(options),
    commits: false,
    callMsMax: Math.min(beginMsMax, callMsMax),
  });
  let stopCanceling: (() => Promise<void>) | null = null;
  let result: R;
  try {
    if (cancel !== null && signal !== undefined) stopCanceling = cancelOnAbort(cancel, signal);
    const call: Call = (statement) =>
      // One that comes late would run in no transaction, or in another caller's.
      isOver
        ? Promise.reject(new StatementError(FAILED_TRANSACTION, null))
        : lease.execute({ ...statement, commits: false, isReadOnly, callMsMax, signal });
    const sql = createSql(call);
    result = await step({ ...sql, parts: createParts(sql) });
    isOver = true;
    await stopCanceling?.();
  } catch (cause) {
    isOver = true;
    await stopCanceling?.();
    // A connection that does not even roll back is closed by the driver, and the server rolls back.
    if (!lease.isLost) await lease.execute({ text: "ROLLBACK", commits: false, callMsMax }).catch(() => {});
    throw cause;
  }
  const { command } = await lease.execute({ text: "COMMIT", commits: true, callMsMax });
  // The server answers a COMMIT of a transaction in which a statement failed with ROLLBACK, and no error.
  if (command !== "COMMIT") throw new StatementError(FAILED_TRANSACTION, null);
  return result;
}

function toBegin({ isReadOnly = false, isolation = "read committed", callMsMax }: Limited): string {
  const begin = `BEGIN ISOLATION LEVEL ${isolation}${isReadOnly ? " READ ONLY" : ""}`;
  // A reader holds no lock that another replica waits for, and may hand rows on in between.
  const idle = isReadOnly ? `; SET LOCAL idle_in_transaction_session_timeout = ${READER_IDLE_MS_MAX}` : "";
  return `${begin}; SET LOCAL statement_timeout = ${toServerLimit(callMsMax)}${idle}`;
}

/**
 * Calls `cancel` again and again once `signal` aborts; a signal that has aborted already lets no statement be sent. Returns
 * what stops it: what is sent on the connection afterwards is not ended by it. Never throws, since a server that cannot be
 * asked is found out by the statement itself.
 */
function cancelOnAbort(cancel: () => Promise<void>, signal: AbortSignal): () => Promise<void> {
  const over = new AbortController();
  let canceling: Promise<void> | null = null;
  const cancelRepeatedly = async () => {
    for (let count = 0; count < CANCELS_MAX && !over.signal.aborted; count += 1) {
      await cancel().catch(() => undefined);
      await sleep(CANCEL_INTERVAL_MS, over.signal);
    }
  };
  const begin = () => {
    canceling = cancelRepeatedly();
  };
  signal.addEventListener("abort", begin);
  return async () => {
    over.abort();
    signal.removeEventListener("abort", begin);
    await canceling;
  };
}

function createParts(sql: Sql): Transaction["parts"] {
  let count = 0;
  return async function* <Row>({ text, bindings = [], rowsPerFetch }: CursorQuery) {
    const name = `cursor_${(count += 1)}`;
    await sql.run(`DECLARE ${name} NO SCROLL CURSOR FOR ${text}`, bindings);
    for (;;) {
      const rows = await sql.all<Row>(`FETCH ${rowsPerFetch} FROM ${name}`);
      if (rows.length > 0) yield rows;
      if (rows.length < rowsPerFetch) break;
    }
    await sql.run(`CLOSE ${name}`);
  };
}
