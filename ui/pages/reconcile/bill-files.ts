import { type ColumnMap, MAPPED_FIELDS } from "#bills/bill.ts";
import { ApiFailure } from "../../api/failure.ts";
import type { ReconcileWish } from "../../api/reconcile.ts";

/** What the page holds until it is compared. */
export interface BillDraft {
  readonly files: ReconcileWish["files"];
  /** Null: that of the vendor. */
  readonly provider: string | null;
  readonly since: string;
  readonly until: string;
  /** `date=Day, model=Deployment`; empty where the files are recognised. */
  readonly columns: string;
}

export const NO_BILLS: BillDraft = { files: [], provider: null, since: "", until: "", columns: "" };

/** The request of a draft; a problem of its columns is a sentence in its place. */
export function toWish({ files, provider, since, until, columns }: BillDraft): ReconcileWish | string {
  const map = parseColumns(columns);
  if (typeof map === "string") return map;
  return {
    files,
    ...(provider !== null && { provider }),
    ...(since !== "" && { since }),
    ...(until !== "" && { until }),
    ...(map !== null && { map }),
  };
}

function parseColumns(text: string): ColumnMap | string | null {
  if (text.trim() === "") return null;
  const map: { [field: string]: string } = {};
  const known: readonly string[] = MAPPED_FIELDS;
  for (const part of text.split(/,(?=\s*[a-z_]+\s*=)/)) {
    const [field = "", ...rest] = part.split("=");
    const name = field.trim();
    const column = rest.join("=").trim();
    if (!known.includes(name) || column === "")
      return `Write field=column, where a field is one of ${known.join(", ")}`;
    map[name] = column;
  }
  return map;
}

/** True where naming the columns may help. */
export function isUnrecognised(failure: Error | null): boolean {
  return failure instanceof ApiFailure && failure.code === "invalid_bill";
}
