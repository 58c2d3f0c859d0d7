import { parseNotice } from "#notices/notice.ts";
import type { ExpiringSecret, WaitingNotice } from "#notices/store.ts";

export interface NoticeRow {
  readonly sequence: number;
  readonly body: string;
}

/** The notices of these rows, in their order, without those that this version cannot read. */
export function toWaitingNotices(rows: readonly NoticeRow[]): readonly WaitingNotice[] {
  return rows.flatMap(({ sequence, body }) => {
    const notice = parseNotice(body);
    return notice === null ? [] : [{ sequence, notice }];
  });
}

/** A row of a key or a relay token that ends, joined with its owner. */
export interface ExpiringRow {
  readonly secret: Pick<ExpiringSecret, "id" | "label"> & {
    readonly expiresAtUs: number | null;
  };
  readonly principalName: string;
}

export function toExpiringSecret(
  kind: ExpiringSecret["kind"],
  { secret: { id, label, expiresAtUs }, principalName }: ExpiringRow,
): ExpiringSecret {
  return { kind, id, label, principalName, expiresAtUs: expiresAtUs ?? 0 };
}
