import { useMutation, useQuery } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { BILL_BODY_BYTES_MAX, type ColumnMap, MAPPED_FIELDS } from "#bills/bill.ts";
import { RELAY_PROVIDER } from "#usage/event.ts";
import { toReconciliationCsv } from "#views/bills.ts";
import { PROVIDERS } from "../api/catalog.ts";
import { ApiFailure } from "../api/failure.ts";
import { reconcile, type Reconciliation, type ReconcileWish } from "../api/reconcile.ts";
import { Button } from "../components/button.tsx";
import { Card } from "../components/card.tsx";
import { Chip } from "../components/chip.tsx";
import { Cost } from "../components/cost.tsx";
import { Absent } from "../components/empty.tsx";
import { ErrorNotice } from "../components/error-notice.tsx";
import { FileDrop } from "../components/file-drop.tsx";
import { PageHead } from "../components/page-head.tsx";
import { Segmented } from "../components/segmented.tsx";
import { SelectField } from "../components/select-field.tsx";
import { TextField } from "../components/text-field.tsx";
import { saveFile, toCsvName } from "../text/download.ts";
import { formatCount, formatCounted } from "../text/format.ts";
import { isAgreeing, LINE_WORDS, LineTable } from "./reconcile/line-table.tsx";

/** What the page holds until it is compared. */
interface BillDraft {
  readonly files: ReconcileWish["files"];
  /** Null: that of the vendor. */
  readonly provider: string | null;
  readonly since: string;
  readonly until: string;
  /** `date=Day, model=Deployment`; empty where the files are recognised. */
  readonly columns: string;
}

const NO_BILLS: BillDraft = { files: [], provider: null, since: "", until: "", columns: "" };

/** A provider's bill against what was recorded. The files are sent, compared and dropped. */
export function ReconcilePage() {
  const [draft, setDraft] = useState<BillDraft>(NO_BILLS);
  const [problem, setProblem] = useState<string | null>(null);
  const { data, error, isPending, mutate, reset } = useMutation({ mutationFn: reconcile });
  const change = (patch: Partial<BillDraft>) => {
    setProblem(null);
    setDraft((before) => ({ ...before, ...patch }));
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const wish = toWish(draft);
    if (typeof wish === "string") setProblem(wish);
    else if (!isPending && wish.files.length > 0) mutate(wish);
  };
  return (
    <>
      <PageHead
        title="Reconcile"
        lead="A provider’s usage or costs against what was recorded. Nothing of the files is stored."
      />
      <form onSubmit={submit} noValidate className="mb-4">
        <Card>
          <div className="flex min-w-0 flex-col gap-4">
            <BillFiles
              files={draft.files}
              onChange={(toFiles) => {
                reset();
                setDraft((before) => ({ ...before, files: toFiles(before.files) }));
              }}
            />
            <BillOptions
              draft={draft}
              onChange={change}
              problem={problem}
              isUnrecognised={isUnrecognised(error)}
            />
            <div>
              <Button type="submit" variant="primary" busy={isPending} disabled={draft.files.length === 0}>
                Compare
              </Button>
            </div>
          </div>
        </Card>
      </form>
      {error !== null && (
        <div className="mb-4">
          <ErrorNotice failure={error} />
        </div>
      )}
      <p role="status" className="sr-only">
        {data !== undefined && toHeadline(data)}
      </p>
      {data !== undefined && <Result found={data} />}
    </>
  );
}

/** The request of a draft; a problem of its columns is a sentence in its place. */
function toWish({ files, provider, since, until, columns }: BillDraft): ReconcileWish | string {
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
function isUnrecognised(failure: Error | null): boolean {
  return failure instanceof ApiFailure && failure.code === "invalid_bill";
}

type Files = BillDraft["files"];

interface BillFilesProps {
  readonly files: Files;
  readonly onChange: (toFiles: (files: Files) => Files) => void;
}

/** The files that are compared together; one of the same name takes the place of the former. */
function BillFiles({ files, onChange }: BillFilesProps) {
  const without = (before: Files, name: string) => before.filter((file) => file.name !== name);
  return (
    <div className="flex min-w-0 flex-col gap-2">
      <FileDrop
        label="Usage or costs, as the provider exports them"
        accept=".csv,.json,.tsv,text/csv,application/json"
        sizeBytesMax={BILL_BODY_BYTES_MAX}
        isMultiple
        onText={(text, name) => onChange((before) => [...without(before, name), { name, text }])}
        hint="OpenAI, Anthropic, OpenRouter and Azure, as CSV or JSON; usage and costs of the same days are compared together."
      />
      {files.length > 0 && (
        <ul aria-label="Files" className="flex flex-wrap gap-2">
          {files.map(({ name }) => (
            <li key={name} className="max-w-full min-w-0">
              <Chip
                onRemove={() => onChange((before) => without(before, name))}
                removeLabel={`Remove ${name}`}
              >
                {name}
              </Chip>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

/** No provider has such a name. */
const VENDORS = "*";

interface BillOptionsProps {
  readonly draft: BillDraft;
  readonly onChange: (patch: Partial<BillDraft>) => void;
  readonly problem: string | null;
  readonly isUnrecognised: boolean;
}

function BillOptions({ draft, onChange, problem, isUnrecognised: isAsked }: BillOptionsProps) {
  const { data } = useQuery(PROVIDERS.list());
  const names = [...(data?.rows ?? []).map(({ name }) => name), RELAY_PROVIDER];
  return (
    <div className="grid gap-4 sm:grid-cols-2 lg:grid-cols-4">
      <SelectField<string>
        label="Provider"
        options={[
          { value: VENDORS, label: "Those of the vendor" },
          ...names.map((value) => ({ value, label: value })),
        ]}
        value={draft.provider ?? VENDORS}
        onValueChange={(name) => onChange({ provider: name === VENDORS ? null : name })}
      />
      <TextField
        label="Since (UTC)"
        type="date"
        value={draft.since}
        onValueChange={(since) => onChange({ since })}
      />
      <TextField
        label="Until (UTC)"
        type="date"
        value={draft.until}
        onValueChange={(until) => onChange({ until })}
        hint="The day behind the last"
      />
      <TextField
        label="Columns"
        mono
        placeholder="date=Day, cost=Amount"
        value={draft.columns}
        onValueChange={(columns) => onChange({ columns })}
        error={problem}
        hint={
          isAsked || draft.columns !== ""
            ? `Of any other CSV: ${MAPPED_FIELDS.join(", ")}`
            : "Of any other CSV"
        }
      />
    </div>
  );
}

function toHeadline({ lines, agrees }: Reconciliation): string {
  if (agrees) return "The two agree";
  const count = lines.filter((line) => !isAgreeing(line)).length;
  return `${formatCounted(count, "line")} ${count === 1 ? "differs" : "differ"}`;
}

/** Lines that are drawn; the file has all. */
const LINES_SHOWN_MAX = 500;

function Result({ found }: { readonly found: Reconciliation }) {
  const { lines, counts, total, since, until, providers } = found;
  const differing = lines.filter((line) => !isAgreeing(line));
  const [shown, setShown] = useState<"differing" | "all">("differing");
  const chosen = shown === "all" ? lines : differing;
  const save = () => {
    const file = new Blob([toReconciliationCsv(lines)], { type: "text/csv;charset=utf-8" });
    saveFile(file, toCsvName("reconcile", { since, until }, Date.now()));
  };
  const kinds = [
    counts.equal,
    counts.within,
    counts.lockport_more,
    counts.bill_more,
    counts.only_here,
    counts.only_there,
  ];
  return (
    <Card
      title={toHeadline(found)}
      lead={`${since} to ${until} UTC, ${providers === null ? "usage of every provider" : `usage of ${providers.join(", ")}`}`}
      actions={
        <>
          <Segmented
            label="Lines"
            options={[
              { value: "differing", label: `Differing ${formatCount(differing.length)}` },
              { value: "all", label: `All ${formatCount(lines.length)}` },
            ]}
            value={shown}
            onValueChange={setShown}
          />
          <Button size="sm" icon="download" onClick={save}>
            CSV
          </Button>
        </>
      }
      flush
    >
      <dl className="flex flex-wrap gap-x-6 gap-y-1 border-b border-line px-4 pb-3 text-sm">
        {Object.values(LINE_WORDS).map((word, index) => (
          <div key={word} className="flex gap-1.5">
            <dt className="text-ink-soft">{word}</dt>
            <dd className="tabular-nums">{formatCount(kinds[index] ?? 0)}</dd>
          </div>
        ))}
        <div className="flex gap-1.5">
          <dt className="text-ink-soft">Cost here</dt>
          <dd>{total.here === null ? <Absent /> : <Cost value={total.here} />}</dd>
        </div>
        <div className="flex gap-1.5">
          <dt className="text-ink-soft">Cost there</dt>
          <dd>{total.there === null ? <Absent /> : <Cost value={total.there} />}</dd>
        </div>
      </dl>
      <LineTable lines={chosen.slice(0, LINES_SHOWN_MAX)} />
      {chosen.length > LINES_SHOWN_MAX && (
        <p className="border-t border-line px-4 py-2 text-xs text-ink-soft">
          The first {formatCount(LINES_SHOWN_MAX)} of {formatCount(chosen.length)} lines. The CSV has all.
        </p>
      )}
    </Card>
  );
}
