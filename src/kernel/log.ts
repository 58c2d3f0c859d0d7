import { SetupError } from "./errors.ts";
import { systemCode } from "./system-code.ts";

export const LOG_LEVELS = ["debug", "info", "warn", "error"] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** Values of a log line. Never content, never a credential, never a URL that could carry one. */
export type LogFields = { readonly [field: string]: string | number | boolean | null };

export interface Log {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
}

/** For what its caller tells of itself. */
export const SILENT_LOG: Log = { debug() {}, info() {}, warn() {}, error() {} };

interface LogOptions {
  readonly level: LogLevel;
  /** JSON lines when true (stderr is not a terminal), else a line for a person to read. */
  readonly json: boolean;
  readonly write: (line: string) => void;
  readonly timestamp: () => string;
}

export function createLog(options: LogOptions): Log {
  const threshold = LOG_LEVELS.indexOf(options.level);
  const at =
    (level: LogLevel) =>
    (message: string, fields: LogFields = {}) => {
      if (LOG_LEVELS.indexOf(level) < threshold) return;
      options.write(options.json ? toJsonLine(level, message, fields) : toTextLine(level, message, fields));
    };
  const toJsonLine = (level: LogLevel, message: string, fields: LogFields) =>
    `${JSON.stringify({ ts: options.timestamp(), level, message, ...fields })}\n`;
  const toTextLine = (level: LogLevel, message: string, fields: LogFields) => {
    const rest = Object.entries(fields).map(([field, value]) => ` ${field}=${JSON.stringify(value)}`);
    return `${options.timestamp()} ${level.toUpperCase().padEnd(5)} ${message}${rest.join("")}\n`;
  };
  return { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") };
}

/**
 * The loggable part of an unknown failure: its class and its stable code. The message is left out, since messages of
 * network, TLS and SQLite errors hold URLs, paths and values. What this machine is not set up for is told in a sentence of ours,
 * which a start prints as well.
 */
export function describeCause(cause: unknown): LogFields {
  if (!(cause instanceof Error)) return { cause: typeof cause };
  const told = { cause: cause.name, cause_code: systemCode(cause) };
  return cause instanceof SetupError ? { ...told, cause_message: cause.message } : told;
}
