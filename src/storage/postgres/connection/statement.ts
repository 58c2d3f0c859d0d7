import { withinLimit } from "#kernel/timer.ts";
import { DatabaseUnreachableError, StatementError, toDatabaseError } from "./errors.ts";
import { decodeIntegers, toParameter, type Binding } from "./values.ts";

export interface Statement {
  readonly text: string;
  readonly bindings?: readonly Binding[];
  /** Rows as arrays in the order of the columns; objects by column without it. */
  readonly asArrays?: boolean;
  /** Integers that no number is arrive as the nearest one; without it they are refused (SQLSTATE 22003). */
  readonly isNearest?: boolean;
  /** Whether it is committed by itself, so that a lost answer leaves open what was made. */
  readonly commits: boolean;
  /** Whether it runs in a transaction that may not write, so that a refusal to write is its own fault. */
  readonly isReadOnly?: boolean;
}

export interface CallLimits {
  readonly callMsMax: number;
  /** Told when the limit has passed without a sign of the server: no connection of the pool can be trusted any more. */
  readonly onExpiry: () => void;
  /** Aborted: it is not sent, and fails with SQLSTATE 57014. What is under way goes on (`Lease.cancel`). */
  readonly signal?: AbortSignal | undefined;
}

export interface Result<Row> {
  readonly rows: readonly Row[];
  /** Rows that were inserted, updated or deleted; a SELECT whose WITH writes counts none. */
  readonly touched: number;
  /** The command tag, such as `COMMIT`; null for several statements at once. */
  readonly command: string | null;
}

/** What the server answers to a statement that was canceled. */
const CANCELED = "57014";

/**
 * One statement to the server and back, within a limit of its own: a silent partition leaves the driver's promise pending for
 * ever. Throws only errors of `errors.ts`, SetupError, and TypeError for a binding that has no form in PostgreSQL.
 */
export async function execute<Row>(
  client: Bun.ReservedSQL,
  { text, bindings = [], asArrays = false, isNearest = false, commits, isReadOnly = false }: Statement,
  { callMsMax, onExpiry, signal }: CallLimits,
): Promise<Result<Row>> {
  if (signal?.aborted === true) throw new StatementError(CANCELED, null);
  // Without parameters the driver speaks the simple protocol, which several statements at once need.
  const parameters = bindings.length === 0 ? undefined : bindings.map(toParameter);
  const query = client.unsafe<Row[]>(text, parameters);
  try {
    // The driver sends a query when it is awaited.
    const answer = await withinLimit(asArrays ? query.values() : query, callMsMax, () => {
      onExpiry();
      throw new DatabaseUnreachableError("limit", { mayBeCommitted: commits });
    });
    return toResult(answer, isNearest);
  } catch (cause) {
    throw toDatabaseError(cause, { commits, isReadOnly });
  }
}

function toResult<Row>(answer: Row[] & Bun.SQL.ResultMetadata, isNearest: boolean): Result<Row> {
  // Several statements at once are answered by a plain array, which has none of these three.
  const {
    columns,
    affectedRows,
    command,
  }: { [Name in keyof Bun.SQL.ResultMetadata]?: Bun.SQL.ResultMetadata[Name] | undefined } = answer;
  if (columns !== undefined && columns !== null) decodeIntegers(answer, columns, isNearest);
  return { rows: answer, touched: affectedRows ?? 0, command: command ?? null };
}
