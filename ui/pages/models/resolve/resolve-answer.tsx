import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import type { Resolution } from "../../../api/catalog.ts";
import { ApiFailure } from "../../../api/failure.ts";
import { ArrowChain } from "../../../components/arrow-chain.tsx";
import { Button, buttonClass } from "../../../components/button.tsx";
import { CapabilityChips } from "../../../components/capability.tsx";
import { CopyButton } from "../../../components/copy.tsx";
import { ErrorNotice } from "../../../components/error-notice.tsx";
import type { ModelsSearch } from "../../../search/pages.ts";
import type { EditableRow } from "../model-row.ts";

/** The way of a request, to the exact URL. */
export function Way({ way, target }: { readonly way: Resolution; readonly target: string | null }) {
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

export interface RefusalProps {
  readonly failure: Error;
  readonly alias: string;
  /** The model of that name, when there is one. */
  readonly row: EditableRow | undefined;
  readonly rows: readonly EditableRow[];
  readonly onChange: (patch: ModelsSearch) => void;
  readonly onAdd: (alias: string) => void;
}

/** What a caller would be told, why, and what to do about it. */
export function Refusal({ failure, alias, row, rows, onChange, onAdd }: RefusalProps) {
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
