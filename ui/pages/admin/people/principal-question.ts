import type { Person } from "./people-list.ts";

/** What is asked about before it is done. */
export type Asking = "demote" | "disable" | "revoke" | "delete";

export interface Question {
  readonly title: string;
  readonly body: string;
  readonly confirmLabel: string;
  /** To be typed first: it cannot be undone. */
  readonly requireText?: string;
}

/** What will stop, and what stays. `isSelf`: they are who is signed in. */
export function toQuestion(asking: Asking, person: Person, isSelf: boolean): Question {
  return QUESTION[asking](person, isSelf ? " This is your own account: you lose access to these pages." : "");
}

const QUESTION = {
  demote: ({ name }, self) => ({
    title: `Make ${name} a member?`,
    body: `They keep their keys and lose access to administration immediately.${self}`,
    confirmLabel: "Make member",
  }),
  disable: (person, self) => ({
    title: `Disable ${person.name}?`,
    body: `${toSecrets(person)} and all sessions are refused immediately. Nothing is deleted: enabling restores them.${self}`,
    confirmLabel: "Disable",
  }),
  revoke: ({ name }, self) => ({
    title: `End every session of ${name}?`,
    body: `Every browser has to sign in again. Keys and relay tokens still work.${self}`,
    confirmLabel: "End sessions",
  }),
  delete: (person, self) => ({
    title: `Delete ${person.name}?`,
    body: `${toSecrets(person)} and all sessions are deleted too and cannot be restored. Past usage stays in the reports under this name.${self}`,
    confirmLabel: "Delete",
    requireText: person.name,
  }),
} as const satisfies Record<Asking, (person: Person, self: string) => Question>;

function toSecrets({ keyCount, tokenCount }: Person): string {
  return `${toCount(keyCount, "key")}, ${toCount(tokenCount, "relay token")}`;
}

function toCount(count: number, noun: string): string {
  return count === 1 ? `1 ${noun}` : `${count} ${noun}s`;
}
