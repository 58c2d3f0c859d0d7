import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { SECRET_VARIABLES } from "#snippets/client.ts";
import { CURL } from "#snippets/curl.ts";
import { listedModelsQuery } from "../api/models.ts";
import { Button, buttonClass } from "../components/button.tsx";
import { Card } from "../components/card.tsx";
import { Badge } from "../components/chip.tsx";
import { classNames } from "../components/class-names.ts";
import { CodeBlock, CodeSkeleton, InlineCode } from "../components/code.tsx";
import { Icon } from "../components/icon.tsx";
import { FirstRequest } from "./first-request.tsx";
import { SETUP_STEPS, toNextStep, type Setup, type SetupStep } from "./setup.ts";

interface Step {
  readonly title: string;
  readonly why: string;
  /** Where a member does it; null where it is done by an admin, in the setup, and where what it takes stands beneath. */
  readonly link: "/keys" | null;
  readonly isForAdmin?: boolean;
}

/** The way from an empty installation to its first request; each step checks itself off. */
export function Checklist({ setup }: { readonly setup: Setup }) {
  const { done, isAdmin, dismiss } = setup;
  if (done === null) return null;
  const next = toNextStep(done);
  const steps = toSteps(isAdmin);
  const doneCount = SETUP_STEPS.filter((step) => done[step]).length;
  return (
    <Card
      flush
      className="mb-4"
      title={next === null ? "Lockport is set up" : "Set up Lockport"}
      lead={
        next === null
          ? "The first request has arrived. This page now shows the usage of the team."
          : `${doneCount} of ${SETUP_STEPS.length} done. Steps are checked off automatically.`
      }
      actions={
        next === null ? (
          <Button size="sm" icon="check" onClick={dismiss}>
            Dismiss
          </Button>
        ) : isAdmin ? (
          <Link to="/setup" className={buttonClass({ variant: "primary" })}>
            {doneCount === 0 ? "Start" : "Continue"}
          </Link>
        ) : undefined
      }
    >
      <p role="status" className="sr-only">
        {next === null ? "The first request has arrived. Lockport is set up." : `Next: ${steps[next].title}`}
      </p>
      <ol className="border-t border-line">
        {SETUP_STEPS.map((step, index) => (
          <StepLine
            key={step}
            step={steps[step]}
            number={index + 1}
            isDone={done[step]}
            isNext={step === next}
          >
            {step === "request" && step === next && <PasteFirst />}
          </StepLine>
        ))}
      </ol>
    </Card>
  );
}

interface StepLineProps {
  readonly step: Step;
  readonly number: number;
  readonly isDone: boolean;
  readonly isNext: boolean;
  readonly children: ReactNode;
}

function StepLine({ step, number, isDone, isNext, children }: StepLineProps) {
  return (
    <li
      aria-current={isNext ? "step" : undefined}
      className="flex gap-3 border-b border-line px-4 py-3.5 last:border-0"
    >
      <span
        aria-hidden="true"
        className={classNames(
          "flex size-6 shrink-0 items-center justify-center rounded-full text-xs font-medium",
          isDone
            ? "bg-good-soft text-good"
            : isNext
              ? "bg-accent text-accent-ink"
              : "bg-sunken text-ink-soft",
        )}
      >
        {isDone ? <Icon name="check" size={14} /> : number}
      </span>
      <div className="min-w-0 flex-1">
        <div className="flex flex-wrap items-start justify-between gap-x-4 gap-y-2">
          <div className="min-w-0">
            <p className={classNames("leading-6 font-medium", isDone ? "text-ink-soft" : "text-ink")}>
              {step.title}
              {isDone && <span className="sr-only"> (done)</span>}
            </p>
            {!isDone && <p className="max-w-prose text-ink-soft">{step.why}</p>}
          </div>
          {!isDone && step.isForAdmin === true && <Badge>Waiting for an admin</Badge>}
          {!isDone && step.link !== null && (
            <Link
              to={step.link}
              className={buttonClass({ size: "sm", variant: isNext ? "primary" : "secondary" })}
            >
              {step.title}
            </Link>
          )}
        </div>
        {children}
      </div>
    </li>
  );
}

function toSteps(isAdmin: boolean): { readonly [step in SetupStep]: Step } {
  return {
    provider: {
      title: "Add provider",
      why: "Where models run: a hosted service, or a server of your own.",
      link: null,
      isForAdmin: !isAdmin,
    },
    model: {
      title: "Add models",
      why: "Gives a provider's model the name that callers ask for.",
      link: null,
      isForAdmin: !isAdmin,
    },
    key: {
      title: "Create a key",
      why: "Programs call models with it. Its usage is counted for its owner.",
      link: isAdmin ? null : "/keys",
    },
    request: {
      title: "Make the first request",
      why: "From a shell or any program that uses the OpenAI API.",
      link: null,
    },
  };
}

/** What to paste for the first request; the page waits for it to arrive. */
function PasteFirst() {
  const { data: models, isPending } = useQuery(listedModelsQuery({ endpoint: "chat" }));
  const model = models?.[0]?.id ?? null;
  const { origin } = globalThis.location;
  return (
    <div className="mt-3 flex flex-col gap-3">
      {/* Pasted before the model is known, it would ask for one that does not exist. */}
      {isPending ? (
        <CodeSkeleton />
      ) : (
        <CodeBlock language="Shell" code={CURL.snippets.chat({ origin, model, secret: null })} />
      )}
      <p className="max-w-prose text-ink-soft">
        Set <InlineCode>{SECRET_VARIABLES.openai}</InlineCode> to your key first, or try a model in the{" "}
        <Link to="/playground" className="font-medium text-accent hover:underline">
          playground
        </Link>
        .
      </p>
      <FirstRequest />
    </div>
  );
}
