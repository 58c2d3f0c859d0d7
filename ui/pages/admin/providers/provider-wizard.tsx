import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { providerQuery } from "../../../api/catalog.ts";
import { Button } from "../../../components/button.tsx";
import { Dialog } from "../../../components/dialog.tsx";
import { ErrorNotice } from "../../../components/error-notice.tsx";
import { Progress } from "../../../components/progress.tsx";
import { SkeletonText } from "../../../components/skeleton.tsx";
import { BindModels, type BindModelsProps } from "./bind-models.tsx";
import { ConnectStep } from "./connect-step.tsx";
import { DiscoveryHelp } from "./discovery-help.tsx";
import { discoveryQuery } from "./discovery.ts";
import { EditForm } from "./edit-form.tsx";
import { StepFooter } from "./step-footer.tsx";

type Step =
  | { readonly kind: "connect" }
  | { readonly kind: "edit"; readonly provider: string }
  | { readonly kind: "bind"; readonly provider: string };

export interface ProviderWizardProps {
  /** A provider whose models are to be bound; null makes one first. */
  readonly provider: string | null;
  readonly takenNames: readonly string[];
  readonly onClose: () => void;
}

/** Connect, look for models, tick, bind. A provider that was made stays when the dialog is closed half-way. */
export function ProviderWizard({ provider, takenNames, onClose }: ProviderWizardProps) {
  const [step, setStep] = useState<Step>(
    provider === null ? { kind: "connect" } : { kind: "bind", provider },
  );
  const [isBusy, setBusy] = useState(false);
  return (
    <Dialog
      open
      onOpenChange={(next) => !next && !isBusy && onClose()}
      size={step.kind === "bind" ? "xl" : "lg"}
      keepOnOutsidePress
      title={TITLE[step.kind](step.kind === "connect" ? "" : step.provider)}
      description={DESCRIPTION[step.kind]}
    >
      {/* The foot of a step stays in sight: what takes the focus is not to hide behind it. */}
      <div className="[&_:is(input,button,summary)]:scroll-mb-24">
        {step.kind === "connect" && (
          <ConnectStep
            takenNames={takenNames}
            onCancel={onClose}
            onCreated={({ name }) => setStep({ kind: "bind", provider: name })}
          />
        )}
        {step.kind === "edit" && (
          <EditStep
            provider={step.provider}
            onDone={() => setStep({ kind: "bind", provider: step.provider })}
          />
        )}
        {step.kind === "bind" && (
          <BindStep
            provider={step.provider}
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
  connect: "Step 1 of 2: connection. Models come next.",
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
      buttons={({ id, isPending }) => (
        <div className="pt-4">
          <StepFooter>
            <Button onClick={onDone}>Back</Button>
            <Button type="submit" form={id} variant="primary" busy={isPending}>
              Save and try again
            </Button>
          </StepFooter>
        </div>
      )}
    />
  );
}

interface BindStepProps extends Omit<BindModelsProps, "models"> {
  readonly onEdit: () => void;
}

/** The second step: asks the provider what it has; where it cannot say, models are bound by hand. */
function BindStep({ onEdit, ...props }: BindStepProps) {
  const provider = useQuery(providerQuery(props.provider));
  const discovery = useQuery(discoveryQuery(props.provider));
  const { data: found, error: failure } = discovery;
  if (provider.data === undefined && provider.error !== null)
    return <ErrorNotice failure={provider.error} onRetry={() => void provider.refetch()} />;
  if (provider.data === undefined || discovery.isFetching) {
    return (
      <div className="min-h-64">
        <Progress
          label={`Asking ${provider.data === undefined ? props.provider : `${provider.data.base_url}/models`}`}
          ratio={null}
        />
      </div>
    );
  }
  return (
    <div className="flex flex-col gap-5">
      {failure !== null && (
        <DiscoveryHelp
          failure={failure}
          provider={provider.data}
          onRetry={() => void discovery.refetch()}
          onEdit={onEdit}
        />
      )}
      <BindModels key={found?.discovered_at ?? "none"} {...props} models={found?.models ?? []} />
    </div>
  );
}
