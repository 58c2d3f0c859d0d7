import { UNIT_TABLE } from "#kernel/units.ts";
import { useMutation } from "@tanstack/react-query";
import { useId, useState, type SubmitEvent } from "react";
import { updateModel, type Model, type Provider } from "../../../api/catalog.ts";
import { ArrowChain } from "../../../components/arrow-chain.tsx";
import { Badge } from "../../../components/chip.tsx";
import { Button } from "../../../components/button.tsx";
import { CopyButton } from "../../../components/copy.tsx";
import { ErrorNotice } from "../../../components/error-notice.tsx";
import { Instant } from "../../../components/instant.tsx";
import { focusInvalid } from "../../../components/field-frame.tsx";
import { SidePanel } from "../../../components/panel.tsx";
import { useToast } from "../../../components/toast.tsx";
import { ModelLinks, ModelSnippets, ModelUsage } from "../model-parts.tsx";
import type { EditableRow } from "../model-row.ts";
import { DeleteModelDialog } from "./delete-model-dialog.tsx";
import { ModelFields } from "./model-fields.tsx";
import { toKindPrices, toModelForm, toModelPatch, type ModelForm } from "./model-form.ts";
import { NamesSection } from "./names-section.tsx";
import { toPinnedUnits, type Prices } from "../../../catalog/price-set.ts";

export interface EditPanelProps {
  readonly row: EditableRow;
  readonly models: readonly Model[];
  readonly providers: readonly Provider[];
  readonly onOpen: (alias: string) => void;
  readonly onResolve: (alias: string) => void;
  readonly onClose: () => void;
}

/** Changes one model; also shows its usage and how it is called. */
export function EditPanel(props: EditPanelProps) {
  const { row, onClose, onResolve } = props;
  const { model, names, isProviderDisabled } = row;
  const [isDeleting, setDeleting] = useState(false);
  return (
    <SidePanel
      open
      onOpenChange={(next) => !next && onClose()}
      title={model.alias}
      description={
        <span className="flex flex-wrap items-center gap-2 text-xs">
          <Badge>{model.origin}</Badge>
          {model.hidden && <Badge tone="warn">not listed</Badge>}
          <span>
            added <Instant value={model.created_at} format="minute" />
          </span>
        </span>
      }
      footer={<ModelLinks model={model} />}
    >
      <div className="flex flex-col gap-6">
        <section aria-label="Route of a request" className="flex flex-col items-start gap-2">
          <ArrowChain
            alias={model.alias}
            target={model.target}
            provider={model.provider}
            upstreamName={model.upstream_name}
          />
          {isProviderDisabled && (
            <p className="text-warn">{model.provider} is disabled: requests for this name are refused.</p>
          )}
          <div className="flex flex-wrap gap-2">
            <Button size="sm" icon="arrow-right" onClick={() => onResolve(model.alias)}>
              Resolve
            </Button>
            <CopyButton text={model.alias} label="Copy the name" />
          </div>
        </section>
        <EditModel {...props} />
        {model.target === null && <NamesSection alias={model.alias} names={names} />}
        <ModelUsage model={model.alias} />
        <ModelSnippets model={model} />
        <section aria-label="Delete" className="border-t border-line pt-4">
          <Button icon="trash" variant="danger" onClick={() => setDeleting(true)}>
            Delete model
          </Button>
        </section>
      </div>
      {isDeleting && (
        <DeleteModelDialog
          alias={model.alias}
          names={names}
          onDeleted={onClose}
          onClose={() => setDeleting(false)}
        />
      )}
    </SidePanel>
  );
}

const NO_OWN: Prices = {};

function EditModel({ row, models, providers, onOpen, onClose }: EditPanelProps) {
  const id = useId();
  const { notify } = useToast();
  const { model, names } = row;
  const own = row.own ?? NO_OWN;
  const [form, setForm] = useState<ModelForm>(() => toModelForm(model, own));
  const update = useMutation({
    ...updateModel,
    onSuccess: (saved) => {
      if (saved.alias === model.alias) {
        notify({ title: `${saved.alias} saved`, body: "Applies from the next request.", tone: "good" });
        return;
      }
      notify({
        title: `${model.alias} is now ${saved.alias}`,
        tone: "good",
        action: { label: "Open it", onSelect: () => onOpen(saved.alias) },
      });
      onClose();
    },
  });
  const change = (part: Partial<ModelForm>) => {
    update.reset();
    setForm((before) => ({ ...before, ...part }));
  };
  const patch = toModelPatch(form, model, own);
  const isChanged = Object.keys(patch).length > 0;
  const submit = (event: SubmitEvent<HTMLFormElement>) => {
    event.preventDefault();
    if (update.isPending || !isChanged || focusInvalid(event.currentTarget)) return;
    update.mutate({ alias: model.alias, patch });
  };
  return (
    <form id={id} onSubmit={submit} className="flex flex-col gap-4">
      <ModelFields
        form={form}
        onChange={change}
        onKindChange={(kind) => change({ kind, prices: toKindPrices(kind, model, own) })}
        models={models}
        providers={providers}
        alias={model.alias}
        kindNote={
          names.length > 0
            ? "Routes to a provider. It has other names, so it cannot become a name for another model."
            : undefined
        }
        pricesNote={toPricesNote(row, form)}
        withoutPrices={row.own === null}
        failure={update.error}
      />
      {update.error !== null && <ErrorNotice failure={update.error} />}
      <div className="flex flex-wrap gap-2">
        <Button type="submit" variant="primary" busy={update.isPending} disabled={!isChanged}>
          Save changes
        </Button>
        {isChanged && <Button onClick={() => change(toModelForm(model, own))}>Undo changes</Button>}
      </div>
    </form>
  );
}

function toPricesNote({ model, own }: EditableRow, form: ModelForm): string | undefined {
  if (own === null) return "Prices could not be loaded and cannot be changed now.";
  if (form.kind === "name") return undefined;
  if (model.target !== null) return "The inherited prices become its own.";
  const pinned = toPinnedUnits(model, own);
  if (pinned.length === 0) return undefined;
  const words = pinned.map((unit) => UNIT_TABLE[unit].label.toLowerCase()).join(", ");
  return `Inherited from ${model.upstream_name}: ${words}. Changing one price makes all of them its own.`;
}
