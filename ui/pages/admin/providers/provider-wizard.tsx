import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { type DiscoveredModels, providerQuery } from "../../../api/catalog.ts";
import { Button } from "../../../components/button.tsx";
import { CloseButton, Dialog } from "../../../components/dialog.tsx";
import { SkeletonText } from "../../../components/skeleton.tsx";
import { BindStep } from "../../../providers/bind-models.tsx";
import { ConnectStep } from "../../../providers/connect-step.tsx";
import { SubmitButton } from "../../../form/form.tsx";
import { EditForm } from "./edit-form.tsx";
import { StepFooter } from "../../../providers/discovery-help.tsx";

type Step =
  | { readonly kind: "connect" }
  | { readonly kind: "edit"; readonly provider: string }
  | { readonly kind: "bind"; readonly provider: string; readonly found: DiscoveredModels | null };

export interface ProviderWizardProps {
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
