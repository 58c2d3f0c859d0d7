import { useState } from "react";
import type { DiscoveredModels } from "../../api/catalog.ts";
import { CloseButton, Dialog } from "../../components/dialog.tsx";
import { BindStep } from "../../providers/bind-models.tsx";
import { ConnectStep } from "../../providers/connect-step.tsx";

type Step =
  | { readonly kind: "connect" }
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
        {step.kind === "bind" && (
          <BindStep provider={step.provider} found={step.found} onBusyChange={setBusy} onDone={onClose} />
        )}
      </div>
    </Dialog>
  );
}

const TITLE = {
  connect: () => "Add provider",
  bind: (name: string) => `Models of ${name}`,
} as const;

const DESCRIPTION = {
  connect: "Step 1 of 2: connection. It is tested before it is saved; models come next.",
  bind: "Select the models that your team may call. Capabilities are guessed from the name.",
} as const;
