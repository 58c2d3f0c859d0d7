import type { Database } from "bun:sqlite";
import { toReading } from "#storage/reports/answers.ts";
import type { AnswerOf, Asked, QuestionKind } from "#storage/threads/messages.ts";
import { readFrom } from "./drive.ts";

/**
 * Throws ProxyError for a refusal; anything else that it throws is a bug, or the file's. Apart from `reading.ts`, which the
 * writer's thread needs: every report comes with this.
 */
export function answerQuestion<Kind extends QuestionKind>(
  database: Database,
  asked: Asked<Kind>,
): AnswerOf<Kind> {
  return readFrom(database, toReading<Kind>(asked));
}
