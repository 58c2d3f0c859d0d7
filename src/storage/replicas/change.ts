/** What a mutation has changed; `id` null: everything of the kind is to be read again. */
export interface Change {
  readonly kind: "catalog" | "principal" | "key" | "relay_token" | "limit" | "session" | "secret";
  readonly id: string | null;
}
