export type ToastTone = "neutral" | "good" | "bad";

export interface ToastMessage {
  readonly title: string;
  readonly body?: string | undefined;
  readonly tone?: ToastTone | undefined;
  readonly action?: { readonly label: string; readonly onSelect: () => void } | undefined;
}

export interface NumberedMessage extends ToastMessage {
  /** From 1, in the order in which they came. */
  readonly serial: number;
}

/** Older messages were shown long ago, or are too many to read by the time they would be shown. */
export const MESSAGES_MAX = 20;

/** The messages with one more at the end. */
export function addMessage(
  earlier: readonly NumberedMessage[],
  message: ToastMessage,
): readonly NumberedMessage[] {
  return [...earlier.slice(1 - MESSAGES_MAX), { ...message, serial: lastSerial(earlier) + 1 }];
}

/** Returns the number of the newest message; 0 without any. */
export function lastSerial(messages: readonly NumberedMessage[]): number {
  return messages.at(-1)?.serial ?? 0;
}
