import { Link } from "@tanstack/react-router";
import { Suspense, useState } from "react";
import { ALIAS_LENGTH_MAX } from "#kernel/text.ts";
import { UNIT_TABLE } from "#kernel/units.ts";
import { type Model, type ModelPatch, MODELS, type PriceWish, type Provider } from "../../api/catalog.ts";
import { changing, useUndo } from "../../api/changing.ts";
import { AliasList } from "../../catalog/alias-list.tsx";
import {
  EffectiveFromField,
  LateNote,
  type LateRequests,
  toAppliesWords,
  toLateRequests,
} from "../../catalog/effective-from.tsx";
import { PriceConsequence } from "../../catalog/price-consequence.tsx";
import { toPinnedUnits } from "../../catalog/price-set.ts";
import { ArrowChain } from "../../components/arrow-chain.tsx";
import { Button, buttonClass } from "../../components/button.tsx";
import { Badge } from "../../components/chip.tsx";
import { CopyButton } from "../../components/copy.tsx";
import { Dialog } from "../../components/dialog.tsx";
import { ErrorNotice } from "../../components/error-notice.tsx";
import { Instant } from "../../components/instant.tsx";
import { lazyPart } from "../../lazy-part.tsx";
import { ChangeQuestion, RemovalFacts, RowPanel } from "../../lists/row-panel.tsx";
import { TextField } from "../../components/text-field.tsx";
import { useToast } from "../../components/toast.tsx";
import { Form, SubmitButton } from "../../form/form.tsx";
import { readTerms } from "../../form/read-terms.ts" with { type: "macro" };
import { useForm } from "../../form/use-form.ts";
import { ModelFields } from "./model-fields.tsx";
import {
  findMissing,
  type ModelForm,
  toKindPrices,
  toModelForm,
  toModelPatch,
  toUndo,
} from "./model-form.ts";
import { ModelLinks, ModelSnippets, ModelUsage } from "./model-panel.tsx";
import type { EditableRow } from "./model-row.ts";
import { findVariantFault } from "./variants.tsx";

interface EditPanelProps {
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
    <RowPanel
      rowId={model.alias}
      onClose={onClose}
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
      footer={
        <>
          <Link to="/models/repricing" search={{ plan: "1", of: [model.alias] }} className={buttonClass()}>
            Re-price…
          </Link>
          <ModelLinks model={model} />
        </>
      }
    >
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
      <Suspense>
        <PriceHistory model={model.alias} />
      </Suspense>
      {model.target === null && <NamesSection alias={model.alias} names={names} />}
      <ModelUsage model={model.alias} />
      <ModelSnippets model={model} />
      <section aria-label="Delete" className="border-t border-line pt-4">
        <Button icon="trash" variant="danger" onClick={() => setDeleting(true)}>
          Delete model
        </Button>
      </section>
      {isDeleting && (
        <DeleteModelDialog
          model={model}
          names={names}
          onDeleted={onClose}
          onClose={() => setDeleting(false)}
        />
      )}
    </RowPanel>
  );
}

const PriceHistory = lazyPart(async () => (await import("./price-history.tsx")).PriceHistory);

const NO_OWN = {};

type ModelChange = Parameters<typeof MODELS.update.run>[0];

/** A change, and the name of before as a name for the model where it is to be kept. */
const saveModel = changing(
  async ({ keepsName, ...change }: ModelChange & { readonly keepsName: boolean }) => {
    const saved = await MODELS.update.run(change);
    if (keepsName) await MODELS.create.run({ alias: change.id, target: saved.alias });
    return saved;
  },
  MODELS.update.refresh,
);

const takeBack = changing(
  async ({ removedName, ...change }: ModelChange & { readonly removedName: string | null }) => {
    if (removedName !== null) await MODELS.remove.run({ id: removedName });
    return await MODELS.update.run(change);
  },
  MODELS.update.refresh,
);

function EditModel({ row, models, providers, onOpen }: EditPanelProps) {
  const { notify } = useToast();
  const undo = useUndo();
  const { model, names } = row;
  const own = { prices: row.own ?? NO_OWN, variants: row.ownVariants };
  const [late, setLate] = useState<LateRequests | null>(null);
  const form = useForm({
    name: "edit-model",
    begin: toModelForm(model, own),
    terms: readTerms("ModelPatchRequest"),
    check: findMissing(false),
    change: saveModel,
    stored: { kind: "model", view: model },
    toAsked: (values, from) => {
      const patch = toModelPatch(values, model, own);
      const keepsName = values.keepsName && patch.alias !== undefined && values.kind === "binding";
      return Object.keys(patch).length === 0 ? null : { id: model.alias, patch, keepsName, from };
    },
    onSaved: (saved, { patch, keepsName }) => {
      const from = patch?.effective_from;
      setLate(toLateRequests(saved.alias, from, saved));
      const isRenamed = saved.alias !== model.alias;
      const asked = {
        id: saved.alias,
        patch: toUndo(patch ?? {}, model, own),
        from: saved,
        removedName: keepsName ? model.alias : null,
      };
      notify({
        title: isRenamed ? `${model.alias} is now ${saved.alias}` : `${saved.alias} saved`,
        body: toAppliesWords(from),
        tone: "good",
        // Prices to come are taken back where they are listed. The prices of before would not be those of each moment since a past date.
        ...(from === undefined && { action: undo(takeBack, asked, `${model.alias} is as it was`) }),
      });
      if (isRenamed) onOpen(saved.alias);
    },
  });
  const patch = toModelPatch(form.values, model, own);
  const changesPrices = patch.pricing !== undefined || patch.price_variants !== undefined;
  return (
    <>
      <Form form={form}>
        <ModelFields
          form={form}
          onKindChange={(kind) => form.set({ kind, ...toKindPrices(kind, model, own) })}
          models={models}
          providers={providers}
          alias={model.alias}
          kindNote={
            names.length > 0
              ? "Routes to a provider. It has other names, so it cannot become a name for another model."
              : undefined
          }
          pricesNote={toPricesNote(row, form.values)}
          withoutPrices={row.own === null}
          consequence={
            <>
              {changesPrices && <EffectiveFromField {...form.field("effectiveFrom", "effective_from")} />}
              <PriceConsequence name={model.alias} wish={toWish(model.alias, patch)} />
            </>
          }
        />
      </Form>
      <div className="-mt-2 flex flex-wrap gap-2">
        <SubmitButton form={form} underWay="Saving…" disabled={!form.isChanged}>
          Save changes
        </SubmitButton>
        {form.isChanged && <Button onClick={form.reset}>Undo changes</Button>}
      </div>
      {late !== null && <LateNote late={late} />}
    </>
  );
}

/** Null: no price is changed, or a variant is not complete yet. */
function toWish(
  model: string,
  { pricing, price_variants: variants }: NonNullable<ModelPatch>,
): PriceWish | null {
  if (pricing === undefined && variants === undefined) return null;
  if (Object.keys(findVariantFault(variants ?? [])).length > 0) return null;
  return {
    model,
    ...(pricing !== undefined && { pricing }),
    ...(variants !== undefined && { price_variants: variants }),
  };
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

interface NamesSectionProps {
  readonly alias: string;
  readonly names: readonly string[];
}

const NOTHING = { alias: "" };

/** Further names under which a model serves, and a field for one more. */
function NamesSection({ alias, names }: NamesSectionProps) {
  const { notify } = useToast();
  const form = useForm({
    name: "add-model-name",
    begin: NOTHING,
    terms: readTerms("ModelCreateRequest"),
    change: MODELS.create,
    toAsked: (values) => (values.alias.trim() === "" ? null : { alias: values.alias.trim(), target: alias }),
    onSaved: (model) => notify({ title: `${model.alias} is now a name for ${alias}`, tone: "good" }),
  });
  return (
    <section aria-labelledby="model-names" className="flex flex-col gap-2">
      <h3 id="model-names" className="font-semibold">
        Other names
      </h3>
      {names.length === 0 ? (
        <p className="text-ink-soft">
          None. With a name such as “default” you can change the model without changing callers.
        </p>
      ) : (
        <AliasList label={`Other names of ${alias}`} aliases={names} />
      )}
      <Form form={form}>
        <div className="flex flex-wrap items-end gap-2">
          <TextField
            label="Another name"
            {...form.field("alias")}
            mono
            className="min-w-40 flex-1"
            lengthMax={ALIAS_LENGTH_MAX}
          />
          <Button type="submit" icon="plus" busy={form.isPending} disabled={form.values.alias.trim() === ""}>
            Add name
          </Button>
        </div>
      </Form>
    </section>
  );
}

interface DeleteModelDialogProps {
  readonly model: Model;
  /** Names that lead to it, which keep it from being deleted. */
  readonly names: readonly string[];
  readonly onDeleted: () => void;
  readonly onClose: () => void;
}

/** Asks before a model is deleted; one that names lead to says which, and where to change them. */
function DeleteModelDialog({ model, names, onDeleted, onClose }: DeleteModelDialogProps) {
  const { alias } = model;
  // A name was made for it meanwhile: the refusal stands beside that name.
  const [failure, setFailure] = useState<Error | null>(null);
  if (names.length > 0) {
    return (
      <Dialog
        open
        onOpenChange={(next) => !next && onClose()}
        size="sm"
        title={`${alias} is in use`}
        description="It cannot be deleted while it has these other names. Delete them or change their target first."
        footer={<Button onClick={onClose}>Close</Button>}
      >
        <AliasList label={`Other names of ${alias}`} aliases={names} />
        {failure !== null && (
          <div className="mt-3">
            <ErrorNotice failure={failure} compact />
          </div>
        )}
      </Dialog>
    );
  }
  return (
    <ChangeQuestion
      title={`Delete ${alias}?`}
      body={
        <div className="flex flex-col gap-2">
          <RemovalFacts of={MODELS.removal(alias)} />
          <p>
            Requests for it are refused with model_not_found immediately. Past usage stays in the reports.
          </p>
        </div>
      }
      confirmLabel="Delete model"
      change={{ ...MODELS.remove, onError: setFailure }}
      wanted={{ id: alias, from: model }}
      done={() => ({ title: `${alias} deleted`, body: "Past usage stays in the reports." })}
      onClose={onClose}
      onDone={onDeleted}
    />
  );
}
