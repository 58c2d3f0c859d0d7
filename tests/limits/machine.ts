import { Database } from "bun:sqlite";
import { appendFileSync, existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createLog } from "#kernel/log.ts";
import { LimitBook } from "#limits/limit-book.ts";
import { Limits } from "#limits/limits.ts";
import type { LimitSum } from "#limits/limit-sums.ts";
import type { Limit } from "#limits/limit.ts";
import type { LimitSet } from "#limits/store.ts";
import { segmentPath } from "#storage/journal/segments.ts";
import { openForWriting, prepareUsageDatabase } from "#storage/sqlite/ledger/file/database.ts";
import { sumLimits } from "#storage/reports/limit-sums.ts";
import { readFrom } from "#storage/sqlite/drive.ts";
import type { UsageBeginning, UsageEnding } from "#usage/event.ts";
import { encodeJournalLine } from "#usage/journal-line.ts";
import { ENDING, RUN_LINE, toBeginLine, toEndLine, toSettleLine } from "../ledger/usage.ts";
import { openSqliteWriter, type SqliteTestWriter } from "../support/sqlite-writer.ts";

const DAY_US = 86_400e6;
/** Where there is such a folder, no disk is waited for. */
const MEMORY = "/dev/shm";
const log = createLog({ level: "error", json: true, write: () => undefined, timestamp: () => "" });

/**
 * The gate on a real journal, a real writer and a real ledger, step by step and without threads: what a server does, under a
 * clock that a test sets. The writer works when a sum is waited for.
 */
export class Machine {
  readonly #folder = mkdtempSync(join(existsSync(MEMORY) ? MEMORY : tmpdir(), "lockport-limits-"));
  readonly #journal: string;
  readonly #database: Database;
  readonly #asked = new Map<number, { readonly limits: readonly Limit[]; readonly nowUs: number }>();
  readonly #summed = new Map<number, readonly LimitSum[]>();
  readonly #underWay = new Map<UsageBeginning, number>();
  #writer: SqliteTestWriter;
  #set: LimitSet = { limits: [] };
  #sequence = 0;
  #mark = 0;
  nowUs: number;
  gate: Limits;

  constructor(nowUs: number) {
    this.nowUs = nowUs;
    this.#journal = join(this.#folder, "journal");
    mkdirSync(this.#journal);
    const path = join(this.#folder, "usage.db");
    prepareUsageDatabase(path);
    this.#database = openForWriting(path);
    this.#database.run("PRAGMA synchronous = OFF");
    this.#writer = this.#openWriter();
    this.gate = this.#openGate();
    this.#append(RUN_LINE);
  }

  get limits(): readonly Limit[] {
    return this.#set.limits;
  }

  /** As a committed change is: the gate follows at its next look. */
  setLimits(limits: readonly Limit[]): void {
    this.#set = { limits };
  }

  begin(request: UsageBeginning): void {
    this.#sequence += 1;
    this.#underWay.set(request, this.#sequence);
    this.#append(toBeginLine(this.#sequence, request));
    this.gate.began(request);
  }

  end(request: UsageBeginning, ending: UsageEnding): void {
    this.#append(toEndLine(this.#underWay.get(request) ?? 0, ending));
    this.#underWay.delete(request);
    this.gate.ended(request, ending);
  }

  /** What was pending is told. */
  settle(request: UsageBeginning, before: UsageEnding, after: UsageEnding): void {
    const { durationUs, timeToFirstByteUs: _, failure: __, ...told } = after;
    const event = { eventId: request.arrivedAtUs, lane: 0 };
    this.#append(toSettleLine({ event, settledAtUs: request.arrivedAtUs + durationUs, ...told }));
    this.gate.settled(request, before, after);
  }

  /** A request of another process: the ledger has it, and the gate hears nothing of it. */
  recordElsewhere(request: UsageBeginning): void {
    this.#sequence += 1;
    this.#append(toBeginLine(this.#sequence, request));
    this.#append(toEndLine(this.#sequence, ENDING));
  }

  /** A kill and a start: what was under way is cut off. */
  async restart(): Promise<void> {
    this.gate.close();
    this.#underWay.clear();
    this.#append(RUN_LINE);
    this.gate = this.#openGate();
    await this.gate.follow();
  }

  /** What maintenance does: days before this instant's move to other tables. */
  seal(): void {
    this.#write();
    while (this.#writer.seal(Math.floor(this.nowUs / DAY_US) - 1));
  }

  /** What the ledger says from scratch, beside what memory has. */
  countAnew(): LimitBook {
    this.#write();
    const book = new LimitBook();
    book.replace(this.#set.limits);
    const missing = book.askMissing();
    const counted = missing.filter(({ measure }) => measure !== "concurrent");
    book.load(missing, readFrom(this.#database, sumLimits({ limits: counted, nowUs: this.nowUs })));
    return book;
  }

  remove(): void {
    this.gate.close();
    this.#writer.close();
    rmSync(this.#folder, { recursive: true });
  }

  #openGate(): Limits {
    return new Limits({
      store: { peek: () => this.#set, snapshot: async () => this.#set },
      ledger: { sumLimits: (limits, nowUs) => this.#sum(limits, nowUs) },
      clock: { nowUs: () => this.nowUs, monotonicMs: () => 0 },
      log,
    });
  }

  #openWriter(): SqliteTestWriter {
    return openSqliteWriter({
      database: this.#database,
      journalDirectory: this.#journal,
      onDamage: (damage) => {
        throw new Error(`damaged lines: ${JSON.stringify(damage)}`);
      },
      onWatermark: async (mark) => {
        const question = this.#asked.get(mark);
        if (question !== undefined) this.#summed.set(mark, readFrom(this.#database, sumLimits(question)));
      },
    });
  }

  async #sum(limits: readonly Limit[], nowUs: number): Promise<readonly LimitSum[]> {
    const mark = (this.#mark += 1);
    this.#asked.set(mark, { limits, nowUs });
    this.#append(Buffer.from(encodeJournalLine({ kind: "watermark", number: mark })));
    // What ends meanwhile is behind the mark.
    await Bun.sleep(0);
    this.#write();
    const sums = this.#summed.get(mark);
    if (sums === undefined) throw new Error("a mark was passed over");
    return sums;
  }

  #append(line: Buffer): void {
    appendFileSync(segmentPath(this.#journal, 1), line);
  }

  #write(): void {
    while (this.#writer.writeBatch());
  }
}
