import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { type ReactNode, useState } from "react";
import { type Endpoint, isEndpoint, toRow } from "#catalog/endpoint.ts";
import { type Resolution, resolutionQuery } from "../../api/catalog.ts";
import { ApiFailure } from "../../api/failure.ts";
import { ArrowChain } from "../../components/arrow-chain.tsx";
import { Button, buttonClass } from "../../components/button.tsx";
import { CAPABILITIES_SHOWN, CapabilityChips, toCapabilityLabel } from "../../components/capability.tsx";
import { Card } from "../../components/card.tsx";
import { CheckboxField } from "../../components/choice-field.tsx";
import { ComboField } from "../../components/combo-field.tsx";
import { CopyButton } from "../../components/copy.tsx";
import { ErrorNotice } from "../../components/error-notice.tsx";
import { SelectField } from "../../components/select-field.tsx";
import { SkeletonText } from "../../components/skeleton.tsx";
import { useListSearch } from "../../lists/list-page.tsx";
import type { EditableRow } from "./model-row.ts";

interface ResolveBoxProps {
  readonly rows: readonly EditableRow[];
  /** Opens the dialog for a model of this name. */
  readonly onAdd: (alias: string) => void;
}

const ENDPOINT_OPTIONS = CAPABILITIES_SHOWN.filter(isEndpoint).map((endpoint) => ({
  value: endpoint,
  label: toCapabilityLabel(endpoint),
  detail: `/v1${toRow(endpoint).path}`,
}));

/** Where a request for a name would go, asked of the same part that routes requests; nothing is sent to a provider. */
export function ResolveBox({ rows, onAdd }: ResolveBoxProps) {
  const { search, change: onChange } = useListSearch();
  const { resolve: alias = "", endpoint = "chat", stream } = search;
  const [typed, setTyped] = useState(alias);
  const [shownAlias, setShownAlias] = useState(alias);
  // Asked for elsewhere, by a link or by a row.
  if (alias !== shownAlias) {
    setShownAlias(alias);
    setTyped(alias);
  }
  const ask = (text: string) => onChange({ resolve: text.trim() === "" ? undefined : text.trim() });
  return (
    <Card
      title="Where does a request go?"
      lead="Shows the route of a request. Nothing is sent."
      className="mb-5"
    >
      <form
        onSubmit={(event) => {
          event.preventDefault();
          ask(typed);
        }}
        className="flex flex-wrap items-end gap-3"
      >
        <ComboField
          label="Model"
          mono
          placeholder="Name of a model"
          className="min-w-56 flex-1 sm:max-w-sm"
          options={rows.map(({ model }) => ({ value: model.alias, detail: model.provider }))}
          noneText="No model has this name. Press Enter to see the error that callers get."
          value={typed}
          onValueChange={setTyped}
          onCommit={ask}
        />
        <SelectField
          label="Endpoint"
          className="w-40"
          options={ENDPOINT_OPTIONS}
          value={endpoint}
          onValueChange={(next: Endpoint) => onChange({ endpoint: next === "chat" ? undefined : next })}
        />
        <div className="flex h-8 items-center">
          <CheckboxField
            label="Stream"
            checked={stream === "1"}
            onCheckedChange={(checked) => onChange({ stream: checked ? "1" : undefined })}
          />
        </div>
        <Button type="submit">Resolve</Button>
      </form>
      {alias !== "" && (
        <div className="mt-4 min-h-20 border-t border-line pt-4">
          <Answer alias={alias} endpoint={endpoint} isStream={stream === "1"} rows={rows} onAdd={onAdd} />
        </div>
      )}
    </Card>
  );
}

interface AnswerProps extends ResolveBoxProps {
  readonly alias: string;
  readonly endpoint: Endpoint;
  readonly isStream: boolean;
}

function Answer({ alias, endpoint, isStream, rows, onAdd }: AnswerProps) {
  const { data, error } = useQuery(resolutionQuery({ model: alias, endpoint, stream: isStream }));
  const row = rows.find(({ model }) => model.alias === alias);
  if (error !== null) {
    return <Refusal failure={error} alias={alias} row={row} rows={rows} onAdd={onAdd} />;
  }
  return (
    <div role="status" aria-busy={data === undefined}>
      {data === undefined ? (
        <SkeletonText lines={3} />
      ) : (
        <Way way={data} target={row?.model.target ?? null} />
      )}
    </div>
  );
}

/** The way of a request, to the exact URL. */
function Way({ way, target }: { readonly way: Resolution; readonly target: string | null }) {
  return (
    <dl className="grid gap-x-4 gap-y-2 sm:grid-cols-[6rem_minmax(0,1fr)]">
      <dt className="text-ink-soft">Route</dt>
      <dd className="min-w-0">
        <ArrowChain
          alias={way.alias}
          target={target}
          provider={way.provider}
          upstreamName={way.upstream_name}
        />
      </dd>
      <dt className="text-ink-soft">URL</dt>
      <dd className="flex min-w-0 items-center gap-1">
        <code className="min-w-0 font-mono text-xs break-all">POST {way.url}</code>
        <CopyButton iconOnly text={way.url} label="Copy the URL" />
      </dd>
      <dt className="text-ink-soft">Capabilities</dt>
      <dd>
        <CapabilityChips capabilities={way.capabilities} />
      </dd>
    </dl>
  );
}

interface RefusalProps {
  readonly failure: Error;
  readonly alias: string;
  /** The model of that name, when there is one. */
  readonly row: EditableRow | undefined;
  readonly rows: readonly EditableRow[];
  readonly onAdd: (alias: string) => void;
}

/** What a caller would be told, why, and what to do about it. */
function Refusal({ failure, alias, row, rows, onAdd }: RefusalProps) {
  const { change: onChange } = useListSearch();
  const code = failure instanceof ApiFailure ? failure.code : "";
  const similar = code === "model_not_found" && row === undefined ? toSimilar(alias, rows) : [];
  return (
    <div className="flex flex-col items-start gap-3">
      <div className="w-full">
        <ErrorNotice failure={failure} />
      </div>
      {code === "model_not_found" && row !== undefined && (
        <Step text={`${alias} is a model, but its provider ${row.model.provider} is disabled.`}>
          <Link to="/providers" search={{ open: row.model.provider }} className={buttonClass({ size: "sm" })}>
            Open {row.model.provider}
          </Link>
        </Step>
      )}
      {code === "model_not_found" && row === undefined && (
        <Step text={similar.length === 0 ? "No model has a similar name." : "Did you mean"}>
          {similar.map((other) => (
            <Button key={other} size="sm" onClick={() => onChange({ resolve: other })}>
              {other}
            </Button>
          ))}
          <Button size="sm" icon="plus" onClick={() => onAdd(alias)}>
            Add {alias}
          </Button>
        </Step>
      )}
      {code === "endpoint_not_supported" && row !== undefined && (
        <Step
          text={row.model.target === null ? "Declared capabilities:" : `Capabilities of ${row.model.target}:`}
        >
          <CapabilityChips capabilities={row.model.capabilities} />
          <Button size="sm" onClick={() => onChange({ open: row.model.target ?? alias })}>
            Change capabilities
          </Button>
        </Step>
      )}
    </div>
  );
}

function Step({ text, children }: { readonly text: string; readonly children: ReactNode }) {
  return (
    <div className="flex min-w-0 flex-wrap items-center gap-2">
      <span className="text-ink-soft">{text}</span>
      {children}
    </div>
  );
}

const SIMILAR_MAX = 3;
/** Shorter texts are part of too many names. */
const LIKENESS_LENGTH_MIN = 3;

/** Names that hold this one, or that it holds, or that begin alike. */
function toSimilar(alias: string, rows: readonly EditableRow[]): readonly string[] {
  const wanted = alias.toLowerCase();
  if (wanted.length < LIKENESS_LENGTH_MIN) return [];
  const begin = wanted.slice(0, Math.max(LIKENESS_LENGTH_MIN, Math.ceil(wanted.length / 2)));
  return rows
    .map(({ model }) => model.alias)
    .filter((other) => {
      const name = other.toLowerCase();
      return name.includes(wanted) || wanted.includes(name) || name.startsWith(begin);
    })
    .slice(0, SIMILAR_MAX);
}
