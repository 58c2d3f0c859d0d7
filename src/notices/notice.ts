import { formatInstant, type InstantUs } from "#kernel/clock.ts";
import { toPrintable } from "#kernel/printable.ts";
import { truncateCodePoints } from "#kernel/text.ts";

/** What a notice tells of (`docs/spec/limits.md`, "Notices"). */
export const NOTICE_TYPES = [
  "limit.warned",
  "limit.reached",
  "key.expiring",
  "price.missing",
  "provider.failing",
  "provider.recovered",
  "spend.unusual",
  "notice.test",
] as const;
export type NoticeType = (typeof NOTICE_TYPES)[number];

type Fact = string | number | null | readonly string[] | { readonly [name: string]: Fact };

/** What is told. Never content, never a secret. */
export interface NoticeDraft {
  readonly type: NoticeType;
  /** One sentence, as chats show it. */
  readonly text: string;
  /**
   * By the noun they are about. Chats read fields of their own at the top of a body (`channel`, `props`, `content`, `embeds`,
   * `priority`, …): none of those names may stand here.
   */
  readonly facts: { readonly [noun: string]: Fact };
}

/** A notice as it is kept, and as a receiver of its own reads it. */
export interface Notice {
  readonly id: string;
  readonly type: NoticeType;
  readonly at: string;
  readonly text: string;
  readonly [noun: string]: Fact;
}

export function toNotice({ type, text, facts }: NoticeDraft, id: string, atUs: InstantUs): Notice {
  return { ...facts, id, type, at: formatInstant(atUs), text };
}

/** What a notice is about, as far as one of them may tell very much: a limit, the owner of keys, else its type. */
export function toSource({ type, limit, key }: Notice): string {
  const name = memberOf(limit, "id") ?? memberOf(key, "principal");
  return name === null ? type : `${type.split(".", 1)[0] ?? ""} ${name}`;
}

function memberOf(fact: Fact | undefined, name: string): string | null {
  if (typeof fact !== "object" || fact === null) return null;
  const [, found] = Object.entries(fact).find(([known]) => known === name) ?? [];
  return typeof found === "string" ? found : null;
}

/** Null for what is none. */
export function parseNotice(json: string): Notice | null {
  const value: unknown = JSON.parse(json);
  return isNotice(value) ? value : null;
}

function isNotice(value: unknown): value is Notice {
  if (typeof value !== "object" || value === null) return false;
  const { id, type, at, text } = { id: null, type: null, at: null, text: null, ...value };
  return (
    typeof id === "string" &&
    NOTICE_TYPES.some((known) => known === type) &&
    typeof at === "string" &&
    typeof text === "string"
  );
}

const NAME_SHOWN_MAX = 120;

/**
 * A name in the sentence of a notice. Callers choose tags, and of the relay also models: in a chat a name mentions nobody
 * (`@everyone`, `<!channel>`), links nowhere and stays on its line.
 */
export function toQuotedName(name: string): string {
  const shown = truncateCodePoints(name, NAME_SHOWN_MAX);
  const plain = toPrintable(shown.toWellFormed())
    .replace(/(^|[^A-Za-z0-9])@/g, "$1@\u200b")
    .replaceAll("<", "‹")
    .replaceAll(">", "›")
    .replaceAll("](", "] (");
  return `"${plain}${shown.length < name.length ? "…" : ""}"`;
}
