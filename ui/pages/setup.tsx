import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { type ReactNode, useEffect, useRef, useState } from "react";
import { type DiscoveredModels, PROVIDERS } from "../api/catalog.ts";
import { MY_KEYS } from "../api/people.ts";
import { listedModelsQuery } from "../api/models.ts";
import { Card } from "../components/card.tsx";
import { classNames } from "../components/class-names.ts";
import { Icon } from "../components/icon.tsx";
import { PageHead } from "../components/page-head.tsx";
import { SkeletonText } from "../components/skeleton.tsx";
import { TextField } from "../components/text-field.tsx";
import { Form, SubmitButton } from "../form/form.tsx";
import { useForm } from "../form/use-form.ts";
import { BindStep } from "../providers/bind-models.tsx";
import { ConnectStep } from "../providers/connect-step.tsx";
import { AnswerView } from "../reports/answer.tsx";
import { KEY } from "../secrets/secret-kind.ts";
import { SecretReveal, useUncopied } from "../secrets/secret-reveal.tsx";
import { SECRET_TERMS } from "../secrets/secret-terms.tsx";
import { FirstRequest } from "../setup/first-request.tsx";
import { SETUP_STEPS, toNextStep, type SetupStep, useSetup } from "../setup/setup.ts";
import { Snippets } from "../snippets/snippets.tsx";

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
  const { done, failure, retry } = useSetup();
  const [progress, setProgress] = useState<Progress | null>(null);
  // Where an earlier visit left off; from then on this page knows by itself.
  if (progress === null && done !== null) setProgress({ ...NOTHING, step: toNextStep(done) ?? "request" });
  return (
    <div className="mx-auto max-w-5xl">
      <PageHead title="Setup" lead="A provider, its models, a key, and a first request." />
      <AnswerView answer={{ data: progress, failure, retry }} skeleton={<SkeletonText lines={12} />}>
        {(known) => <Steps progress={known} onChange={(part) => setProgress({ ...known, ...part })} />}
      </AnswerView>
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
  const providers = useQuery(PROVIDERS.list());
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
        <AnswerView
          answer={{ data: providers.data, failure: providers.error, retry: providers.refetch }}
          skeleton={<SkeletonText lines={8} />}
        >
          {() => (
            <ConnectStep
              takenNames={names}
              onCreated={({ name }, found) => onChange({ step: "model", provider: name, found })}
            />
          )}
        </AnswerView>
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

/** A key that was made here; its plaintext lives in the memory of the page until it is left. */
interface NewKey {
  readonly id: string;
  readonly suffix: string;
  readonly secret: string;
}

const FIRST = { label: "first key" };

/** The third step: a key of the reader's own. */
function KeyStep({ onCreated }: { readonly onCreated: (key: NewKey) => void }) {
  const form = useForm({
    name: "create-first-key",
    begin: FIRST,
    terms: SECRET_TERMS,
    change: MY_KEYS.create,
    toAsked: ({ label }) => ({ label: label.trim() }),
    onSaved: ({ id, key, key_suffix: suffix }) => onCreated({ id, suffix, secret: key }),
  });
  return (
    <Form form={form}>
      <div className="flex flex-wrap items-end gap-2">
        <TextField label="Label" {...form.field("label")} className="min-w-48 flex-1 sm:max-w-sm" />
        <SubmitButton form={form} underWay="Creating…">
          Create key
        </SubmitButton>
      </div>
    </Form>
  );
}

interface RequestStepProps {
  /** Null: it was made earlier, and is shown no more. */
  readonly newKey: NewKey | null;
  /** A model that was just added; without one, the first that the example can call. */
  readonly alias: string | null;
}

/** The last step: what to paste, and the request that comes of it. */
function RequestStep({ newKey, alias }: RequestStepProps) {
  const [isCopied, setCopied] = useState(newKey === null);
  const question = useUncopied(KEY, isCopied);
  const { data: models } = useQuery(listedModelsQuery());
  const model = models?.find(({ id }) => id === alias);
  return (
    <div className="flex min-w-0 flex-col gap-4">
      {newKey !== null && (
        <SecretReveal secret={newKey.secret} label={KEY.title} onCopied={() => setCopied(true)} />
      )}
      <Snippets
        kind="openai"
        model={model?.id}
        capabilities={model?.capabilities}
        secret={newKey?.secret}
        onCopied={() => setCopied(true)}
      />
      <FirstRequest keyId={newKey?.id} />
      <p className="text-ink-soft">
        No shell at hand?{" "}
        <Link
          to="/playground"
          search={{ model: model?.id }}
          className="font-medium text-accent underline-offset-2 hover:underline"
        >
          Try it in the playground
        </Link>
        .
      </p>
      {question}
    </div>
  );
}

interface StepCardProps {
  readonly number: number;
  readonly title: string;
  readonly state: "done" | "now" | "later";
  /** What it has come to, or what it is for. */
  readonly lead: ReactNode;
  /** Shown while it is the step to do. */
  readonly children: ReactNode;
}

/** One step of the setup: open while it is to be done, one line before and after. */
function StepCard({ number, title, state, lead, children }: StepCardProps) {
  const heading = useRef<HTMLHeadingElement>(null);
  const before = useRef(state);
  // The button that led here is gone, and the focus with it.
  useEffect(() => {
    if (state === "now" && before.current !== "now") heading.current?.focus();
    before.current = state;
  }, [state]);
  return (
    <li aria-current={state === "now" ? "step" : undefined}>
      <Card>
        <div className="flex items-start gap-3">
          <span
            aria-hidden="true"
            className={classNames(
              "flex size-6 shrink-0 items-center justify-center rounded-full text-xs font-medium",
              MARK[state],
            )}
          >
            {state === "done" ? <Icon name="check" size={14} /> : number}
          </span>
          <div className="min-w-0">
            <h2
              ref={heading}
              tabIndex={-1}
              className={classNames("leading-6 font-semibold", state !== "now" && "text-ink-soft")}
            >
              {title}
              {state === "done" && <span className="sr-only"> (done)</span>}
            </h2>
            <p className="max-w-prose break-words text-ink-soft">{lead}</p>
          </div>
        </div>
        {state === "now" && <div className="mt-4">{children}</div>}
      </Card>
    </li>
  );
}

const MARK = {
  done: "bg-good-soft text-good",
  now: "bg-accent text-accent-ink",
  later: "bg-sunken text-ink-soft",
} as const;
