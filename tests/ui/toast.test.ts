import { expect, test } from "bun:test";
import {
  addMessage,
  lastSerial,
  MESSAGES_MAX,
  type NumberedMessage,
} from "../../ui/components/toast-messages.ts";

test("a page that stays open for a year keeps its newest messages and no others, each with a number of its own", () => {
  let messages: readonly NumberedMessage[] = [];
  expect(lastSerial(messages)).toBe(0);
  for (let count = 1; count <= 1000; count += 1) {
    messages = addMessage(messages, { title: `message ${count}` });
    expect(messages.length).toBe(Math.min(count, MESSAGES_MAX));
    expect(messages.at(-1)).toEqual({ title: `message ${count}`, serial: count });
  }
  expect(messages.map(({ serial }) => serial)).toEqual(
    Array.from({ length: MESSAGES_MAX }, (_, index) => 1000 - MESSAGES_MAX + 1 + index),
  );
});
