import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { isEndpoint, toRow, type Endpoint } from "#catalog/endpoint.ts";
import { resolutionQuery } from "../../../api/catalog.ts";
import { Button } from "../../../components/button.tsx";
import { CAPABILITIES_SHOWN, toCapabilityLabel } from "../../../components/capability.tsx";
import { Card } from "../../../components/card.tsx";
import { CheckboxField } from "../../../components/choice-field.tsx";
import { ComboField } from "../../../components/combo-field.tsx";
import { SelectField } from "../../../components/select-field.tsx";
import { SkeletonText } from "../../../components/skeleton.tsx";
import type { ModelsSearch } from "../../../search/pages.ts";
import type { EditableRow } from "../model-row.ts";
import { Refusal, Way } from "./resolve-answer.tsx";

export interface ResolveBoxProps {
  readonly search: ModelsSearch;
  readonly onChange: (patch: ModelsSearch) => void;
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
export function ResolveBox({ search, onChange, rows, onAdd }: ResolveBoxProps) {
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
          <Answer
            alias={alias}
            endpoint={endpoint}
            isStream={stream === "1"}
            rows={rows}
            onChange={onChange}
            onAdd={onAdd}
          />
        </div>
      )}
    </Card>
  );
}

interface AnswerProps extends Omit<ResolveBoxProps, "search"> {
  readonly alias: string;
  readonly endpoint: Endpoint;
  readonly isStream: boolean;
}

function Answer({ alias, endpoint, isStream, rows, onChange, onAdd }: AnswerProps) {
  const { data, error } = useQuery(resolutionQuery({ model: alias, endpoint, stream: isStream }));
  const row = rows.find(({ model }) => model.alias === alias);
  if (error !== null) {
    return <Refusal failure={error} alias={alias} row={row} rows={rows} onChange={onChange} onAdd={onAdd} />;
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
