import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { type DiscoveredModels, providersQuery } from "../api/catalog.ts";
import { PageHead } from "../components/page-head.tsx";
import { SkeletonText } from "../components/skeleton.tsx";
import { BindStep } from "../providers/bind-step.tsx";
import { ConnectStep } from "../providers/connect-step.tsx";
import { SETUP_STEPS, type SetupStep, toNextStep } from "../setup/setup.ts";
import { useSetup } from "../setup/use-setup.ts";
import { KeyStep, type NewKey } from "./setup/key-step.tsx";
import { RequestStep } from "./setup/request-step.tsx";
import { StepCard } from "./setup/step-card.tsx";

/** What has been done here so far. What was done earlier is known by its step alone. */
interface Progress {
  readonly step: SetupStep;
  readonly provider: string | null;
  readonly found: DiscoveredModels | null;
  readonly aliases: readonly string[];
  readonly newKey: NewKey | null;
}

/** From an empty installation to its first request: one page, one step after the other. */
export function SetupPage() {
  const { done } = useSetup();
  const [progress, setProgress] = useState<Progress | null>(null);
  // Where an earlier visit left off; from then on this page knows by itself.
  if (progress === null && done !== null) setProgress({ ...NOTHING, step: toNextStep(done) ?? "request" });
  return (
    <div className="mx-auto max-w-5xl">
      <PageHead title="Setup" lead="A provider, its models, a key, and a first request." />
      {progress === null ? (
        <SkeletonText lines={12} />
      ) : (
        <Steps progress={progress} onChange={(part) => setProgress({ ...progress, ...part })} />
      )}
    </div>
  );
}

const NOTHING: Omit<Progress, "step"> = { provider: null, found: null, aliases: [], newKey: null };

interface StepsProps {
  readonly progress: Progress;
  readonly onChange: (part: Partial<Progress>) => void;
}

function Steps({ progress, onChange }: StepsProps) {
  const { step, aliases, newKey } = progress;
  const providers = useQuery(providersQuery());
  const names = (providers.data?.rows ?? []).map(({ name }) => name);
  const provider = progress.provider ?? names[0] ?? null;
  const toState = (other: SetupStep) => {
    const distance = SETUP_STEPS.indexOf(other) - SETUP_STEPS.indexOf(step);
    return distance === 0 ? "now" : distance < 0 ? "done" : "later";
  };
  return (
    <ol className="flex flex-col gap-3">
      <StepCard
        number={1}
        title="Provider"
        state={toState("provider")}
        lead={
          toState("provider") === "done" && provider !== null
            ? provider
            : "Where models run: a hosted service, or a server of your own. It is tested before it is saved."
        }
      >
        {providers.data === undefined ? (
          <SkeletonText lines={8} />
        ) : (
          <ConnectStep
            takenNames={names}
            onCreated={({ name }, found) => onChange({ step: "model", provider: name, found })}
          />
        )}
      </StepCard>
      <StepCard
        number={2}
        title="Models"
        state={toState("model")}
        lead={
          toState("model") === "done" && aliases.length > 0
            ? toFirstNames(aliases)
            : "Tick what your team may call. Capabilities are guessed; prices are in dollars per million tokens."
        }
      >
        {provider === null ? (
          <SkeletonText lines={8} />
        ) : (
          <BindStep
            provider={provider}
            found={progress.found}
            onDone={() => onChange({ step: "key" })}
            onAllAdded={(added) => onChange({ step: "key", aliases: added })}
          />
        )}
      </StepCard>
      <StepCard
        number={3}
        title="Key"
        state={toState("key")}
        lead={
          newKey === null
            ? "Programs call models with it. Its usage is counted for you; your team gets keys under People & keys."
            : `***${newKey.suffix}`
        }
      >
        <KeyStep onCreated={(created) => onChange({ step: "request", newKey: created })} />
      </StepCard>
      <StepCard
        number={4}
        title="First request"
        state={toState("request")}
        lead="From a shell or any program that uses the OpenAI API."
      >
        <RequestStep newKey={newKey} alias={aliases[0] ?? null} />
      </StepCard>
    </ol>
  );
}

function toFirstNames([first = "", ...others]: readonly string[]): string {
  return others.length === 0 ? first : `${first} and ${others.length} more`;
}
