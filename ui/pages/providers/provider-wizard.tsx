import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { type DiscoveredModels, type ProviderDetails, providerQuery, PROVIDERS } from "../../api/catalog.ts";
import { Button } from "../../components/button.tsx";
import { CloseButton, Dialog } from "../../components/dialog.tsx";
import { SkeletonText } from "../../components/skeleton.tsx";
import { Form, SubmitButton } from "../../form/form.tsx";
import { readTerms } from "../../form/read-terms.ts" with { type: "macro" };
import { REQUIRED } from "../../form/terms.ts";
import { type Form as FormState, useForm } from "../../form/use-form.ts";
import { BindStep } from "../../providers/bind-models.tsx";
import { ConnectStep } from "../../providers/connect-step.tsx";
import { ConnectionFields } from "../../providers/connection-fields.tsx";
import { StepFooter } from "../../providers/discovery-help.tsx";
import { type ProviderForm, toProviderForm, toProviderPatch } from "../../providers/provider-form.ts";

type Step =
  | { readonly kind: "connect" }
  | { readonly kind: "edit"; readonly provider: string }
  | { readonly kind: "bind"; readonly provider: string; readonly found: DiscoveredModels | null };

interface ProviderWizardProps {
  /** A provider whose models are to be bound; null makes one first. */
  readonly provider: string | null;
  readonly takenNames: readonly string[];
  readonly onClose: () => void;
}

/** Connect, test, tick, add. A provider that was saved stays when the dialog is closed half-way. */
export function ProviderWizard({ provider, takenNames, onClose }: ProviderWizardProps) {
  const [step, setStep] = useState<Step>(
    provider === null ? { kind: "connect" } : { kind: "bind", provider, found: null },
  );
  const [isBusy, setBusy] = useState(false);
  return (
    <Dialog
      open
      onOpenChange={(next) => !next && !isBusy && onClose()}
      size={step.kind === "bind" ? "xl" : "lg"}
      title={TITLE[step.kind](step.kind === "connect" ? "" : step.provider)}
      description={DESCRIPTION[step.kind]}
    >
      {/* The foot of a step stays in sight: what takes the focus is not to hide behind it. */}
      <div className="[&_:is(input,button,summary)]:scroll-mb-24">
        {step.kind === "connect" && (
          <ConnectStep
            takenNames={takenNames}
            cancel={<CloseButton>Cancel</CloseButton>}
            onCreated={({ name }, found) => setStep({ kind: "bind", provider: name, found })}
          />
        )}
        {step.kind === "edit" && (
          <EditStep
            provider={step.provider}
            onDone={() => setStep({ kind: "bind", provider: step.provider, found: null })}
          />
        )}
        {step.kind === "bind" && (
          <BindStep
            provider={step.provider}
            found={step.found}
            onBusyChange={setBusy}
            onDone={onClose}
            onEdit={() => setStep({ kind: "edit", provider: step.provider })}
          />
        )}
      </div>
    </Dialog>
  );
}

const TITLE = {
  connect: () => "Add provider",
  edit: (name: string) => `Connection of ${name}`,
  bind: (name: string) => `Models of ${name}`,
} as const;

const DESCRIPTION = {
  connect: "Step 1 of 2: connection. It is tested before it is saved; models come next.",
  edit: "Its models are discovered again afterwards.",
  bind: "Select the models that your team may call. Capabilities are guessed from the name.",
} as const;

function EditStep({ provider, onDone }: { readonly provider: string; readonly onDone: () => void }) {
  const { data } = useQuery(providerQuery(provider));
  if (data === undefined) return <SkeletonText lines={6} />;
  return (
    <EditForm
      provider={data}
      onSaved={onDone}
      buttons={(form) => (
        <div className="pt-4">
          <StepFooter>
            <Button onClick={onDone}>Back</Button>
            <SubmitButton form={form} underWay="Saving…">
              Save and try again
            </SubmitButton>
          </StepFooter>
        </div>
      )}
    />
  );
}

interface EditFormProps {
  /** The form begins with this one; a key on the name makes another form for another provider. */
  readonly provider: ProviderDetails;
  readonly onSaved: () => void;
  readonly buttons: (form: FormState<ProviderForm>) => ReactNode;
}

/** The connection of a provider that exists: only what was changed is sent. */
export function EditForm({ provider, onSaved, buttons }: EditFormProps) {
  const form = useForm({
    name: "edit-provider",
    begin: toProviderForm(provider),
    terms: readTerms("ProviderPatchRequest"),
    check: ({ baseUrl }) => ({ base_url: baseUrl.trim() === "" ? REQUIRED : undefined }),
    change: PROVIDERS.update,
    stored: { kind: "provider", view: provider },
    toAsked: (values, from) => {
      const patch = toProviderPatch(values, provider);
      return Object.keys(patch).length === 0 ? null : { id: provider.name, patch, from };
    },
    done: (saved) => ({ title: `${saved.name} saved`, body: "Applies from the next request." }),
    onClose: onSaved,
  });
  return (
    <>
      <Form form={form}>
        <ConnectionFields form={form} before={provider} />
      </Form>
      {buttons(form)}
    </>
  );
}
