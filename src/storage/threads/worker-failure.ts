import type { LogFields } from "#kernel/log.ts";

/**
 * What may be logged of the failure that ended a Worker: as `describeCause`, and where it was thrown. The runtime hands no error
 * over, only the text that it would print; of that the message and the lines of source are left out, which hold paths and
 * values.
 */
export function describeWorkerFailure(printed: string): LogFields {
  const [, name = "Error"] = /^([A-Za-z]*Error)\b/m.exec(printed) ?? [];
  const [, code = null] = /^\s+code: "([A-Z][A-Z0-9_]*)"/m.exec(printed) ?? [];
  const [, at = null] = /^\s+at .*?([\w.-]+:\d+):\d+\)?$/m.exec(printed) ?? [];
  return { cause: name, cause_code: code, cause_at: at };
}
