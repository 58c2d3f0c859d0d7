import { sleep } from "#kernel/timer.ts";
import { POSTGRES } from "#storage/ledger/queries/dialect.ts";
import { sumLimits } from "#storage/ledger/limits/limit-sums.ts";
import { type MarkQuestions, QUESTION_LOOK_MS } from "#storage/ledger/threads/mark-questions.ts";
import type { WriterReply } from "#storage/ledger/threads/messages.ts";
import type { Transaction } from "#storage/postgres/connection/transaction.ts";
import { drive } from "./reports/drive.ts";

export interface MarkSumsDeps {
  readonly questions: MarkQuestions;
  readonly answer: (summed: Extract<WriterReply, { kind: "summed" }>) => void;
}

/**
 * Adds up what is asked for at a mark, within the transaction that holds what stands before it. Returns what answers once
 * that is committed.
 */
export async function sumAtMark(
  mark: number,
  tx: Transaction,
  { questions, answer }: MarkSumsDeps,
): Promise<() => void> {
  let asked = questions.find(mark);
  for (; asked === "awaited"; asked = questions.find(mark)) await sleep(QUESTION_LOOK_MS);
  if (asked === null) return () => {};
  const question = asked;
  const sums = await drive(tx, { dialect: POSTGRES, subjects: new Map() }, sumLimits(question.question));
  return () => {
    questions.answered(question);
    answer({ kind: "summed", id: question.id, sums });
  };
}
