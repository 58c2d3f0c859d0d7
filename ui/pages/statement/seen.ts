import { isJsonObject } from "#kernel/json.ts";
import type { Statement } from "../../api/reports.ts";

/** What a statement said when it was opened. It is kept in this browser, by account and month. */
export interface SeenStatement {
  /** When, by the server's clock, ISO 8601. */
  readonly at: string;
  readonly hash: string;
  /** When its costs were last priced again, or that was taken back; empty when never. */
  readonly repricedAt: string;
  readonly total: Figures;
  /** By `toRowId`; null where there were too many to be kept. */
  readonly rows: { readonly [id: string]: Figures } | null;
}

/** Requests, unpriced ones, unknown ones, cost. */
export type Figures = readonly [requests: number, unpriced: number, unmetered: number, cost: number | null];

const ROWS_KEPT_MAX = 300;
const MONTHS_KEPT_MAX = 12;

type Row = Statement["rows"][number];

export function toRowId({ by, value }: Pick<Row, "by" | "value">): string {
  return `${by} ${value}`;
}

export function toSeen(statement: Statement, at: string): SeenStatement {
  const { hash, total, rows, repricings } = statement;
  return {
    at,
    hash,
    repricedAt: repricings.find(({ changed_at: changedAt }) => changedAt !== null)?.changed_at ?? "",
    total: toFigures(total),
    rows:
      rows.length > ROWS_KEPT_MAX
        ? null
        : Object.fromEntries(rows.map((row) => [toRowId(row), toFigures(row)])),
  };
}

function toFigures(row: Statement["total"]): Figures {
  return [row.requests, row.unpriced_requests, row.unmetered_requests, row.cost];
}

/** A person, a key, a tag or the whole month that has other figures; null where there was none then, or is none now. */
export interface ChangedRow {
  readonly id: string;
  readonly by: Row["by"] | "total";
  readonly name: string;
  readonly before: Figures | null;
  readonly now: Figures | null;
}

/** The total first. Only the total where rows were not kept. */
export function findChanges(before: SeenStatement, statement: Statement): readonly ChangedRow[] {
  const total = { id: "total", by: "total", name: "Total", before: before.total } as const;
  const changes: ChangedRow[] = [{ ...total, now: toFigures(statement.total) }];
  if (before.rows !== null) {
    const gone = new Map(Object.entries(before.rows));
    for (const row of statement.rows) {
      const id = toRowId(row);
      const name = row.label === undefined || row.label === "" ? row.value : row.label;
      changes.push({ id, by: row.by, name, before: gone.get(id) ?? null, now: toFigures(row) });
      gone.delete(id);
    }
    for (const [id, figures] of gone) {
      const [by] = id.split(" ", 1);
      const known = PARTS.find((part) => part === by);
      if (known !== undefined)
        changes.push({ id, by: known, name: id.slice(known.length + 1), before: figures, now: null });
    }
  }
  return changes.filter(({ before: then, now }) => JSON.stringify(then) !== JSON.stringify(now));
}

const PARTS = ["principal", "key", "tag"] as const;

/** Whose statements they are: an admin's are the team's, a member's its own. */
export interface Account {
  readonly name: string;
  readonly isAdmin: boolean;
}

/** As they were before this page was loaded: a look at another month and back is no other opening. */
const opened = new Map<string, SeenStatement | null>();

/** The statement as it was when it was opened last; null when it was not, or that is no longer kept. */
export function findSeen(account: Account, month: string): SeenStatement | null {
  const id = `${toKey(account)} ${month}`;
  const known = opened.get(id);
  if (known !== undefined) return known;
  const seen = readMonths(account).get(month) ?? null;
  opened.set(id, seen);
  return seen;
}

/** Keeps it for the next time. Where storage is forbidden or full, there is none. */
export function keepSeen(account: Account, month: string, seen: SeenStatement): void {
  const months = readMonths(account);
  months.delete(month);
  const kept = [...months, [month, seen] as const].slice(-MONTHS_KEPT_MAX);
  try {
    localStorage.setItem(toKey(account), JSON.stringify(Object.fromEntries(kept)));
  } catch {
    // Nothing is told at the next opening.
  }
}

function toKey({ name, isAdmin }: Account): string {
  return `lockport.statements.${isAdmin ? "team" : "own"}.${name}`;
}

/** The one that was opened last comes last. */
function readMonths(account: Account): Map<string, SeenStatement> {
  try {
    const stored: unknown = JSON.parse(localStorage.getItem(toKey(account)) ?? "{}");
    const found = Object.entries(isJsonObject(stored) ? stored : {});
    return new Map(found.flatMap(([month, seen]) => (isSeen(seen) ? [[month, seen] as const] : [])));
  } catch {
    return new Map();
  }
}

function isSeen(value: unknown): value is SeenStatement {
  if (!isJsonObject(value)) return false;
  const { at, hash, repricedAt, total, rows } = value;
  return (
    typeof at === "string" &&
    typeof hash === "string" &&
    typeof repricedAt === "string" &&
    isFigures(total) &&
    (rows === null || (isJsonObject(rows) && Object.values(rows).every(isFigures)))
  );
}

function isFigures(value: unknown): value is Figures {
  if (!Array.isArray(value)) return false;
  const figures: readonly unknown[] = value;
  const cost = figures[3];
  return (
    figures.length === 4 &&
    figures.slice(0, 3).every((count) => typeof count === "number") &&
    (cost === null || typeof cost === "number")
  );
}
