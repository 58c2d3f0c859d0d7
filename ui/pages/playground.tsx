import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { useMemo, useRef } from "react";
import { UNIT_TABLE, UNITS } from "#kernel/units.ts";
import type { ChatEndpoint } from "../api/chat.ts";
import { listedModelsQuery } from "../api/models.ts";
import { useMe } from "../api/session.ts";
import { Button, buttonClass } from "../components/button.tsx";
import { Card } from "../components/card.tsx";
import { EmptyState } from "../components/empty.tsx";
import { ErrorNotice } from "../components/error-notice.tsx";
import { focusInvalid } from "../components/field-frame.tsx";
import { Unpriced } from "../components/cost.tsx";
import { PageHead } from "../components/page-head.tsx";
import { SetupLink } from "../setup/setup-link.tsx";
import { formatMoney } from "../text/format.ts";
import {
  Composer,
  ModelField,
  SettingsCard,
  toModelChoices,
  type ModelChoice,
  type Settings,
  useDraft,
} from "./playground/question.tsx";
import { Conversation } from "./playground/exchange-view.tsx";
import { type Exchange, type Question, useChat } from "./playground/exchange.ts";

const route = getRouteApi("/shell/playground");

/** A model asked from the page, over the same route as any client's. What is written here is kept nowhere. */
export function PlaygroundPage() {
  const [draft, setDraft] = useDraft(useMe().name ?? "");
  const { settings } = draft;
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const models = useQuery(listedModelsQuery({ includeHidden: true, includePricing: true }));
  const choices = useMemo(() => toModelChoices(models.data ?? []), [models.data]);
  const wanted = search.model ?? choices.find(({ alias }) => alias === draft.model)?.alias;
  const choice = findChoice(choices, wanted);
  const other = choices.find(({ alias }) => alias === draft.compared && choice?.obstacle === null) ?? null;
  const settingsArea = useRef<HTMLDivElement>(null);
  const composer = useRef<HTMLTextAreaElement>(null);
  const chat = useChat();

  const error = models.isSuccess ? findError(choice, wanted) : null;
  const canAsk = choice !== null && choice.obstacle === null;
  const sides = canAsk ? [choice, ...(other === null ? [] : [other])] : [];
  const asked = sides.map((side) => toAsked(side, settings));
  const canStream = choice === null || canStreamBy(choice, settings);
  const send = () => {
    // A number that cannot be read would be left out in silence.
    if (settingsArea.current !== null && focusInvalid(settingsArea.current)) return;
    if (!canAsk) return;
    chat.ask(asked.map((one) => ({ ...one, question: draft.text })));
    setDraft({ text: "" });
  };

  const retry = (exchange: Exchange) => {
    const again = asked[exchange.side];
    if (again !== undefined) chat.askAgain(exchange, again);
  };

  const clear = () => {
    chat.clear();
    composer.current?.focus();
  };

  return (
    <>
      <PageHead
        title="Playground"
        lead="Billed to you, tagged app:playground. The conversation is kept nowhere and ends with this page."
        actions={
          chat.exchanges.length > 0 && (
            <Button icon="plus" onClick={clear}>
              New conversation
            </Button>
          )
        }
      />
      {models.error !== null && <ErrorNotice failure={models.error} onRetry={() => void models.refetch()} />}
      {models.isSuccess && !choices.some(({ obstacle }) => obstacle === null) ? (
        <NoModels />
      ) : (
        <div className="grid items-start gap-6 lg:grid-cols-[19rem_minmax(0,1fr)]">
          <div className="min-w-0 lg:sticky lg:top-6">
            <SettingsCard
              areaRef={settingsArea}
              settings={settings}
              onChange={(next) => setDraft({ settings: next })}
              canStream={canStream}
              endpoints={choice?.endpoints ?? []}
              endpoint={toEndpoint(choice, settings)}
              model={
                <>
                  <ModelField
                    label="Model"
                    choices={choices}
                    value={choice}
                    onValueChange={({ alias }) => {
                      setDraft({ model: alias });
                      void navigate({ search: { model: alias }, replace: true, resetScroll: false });
                    }}
                    busy={models.isPending}
                    // The price of most models takes two lines; they are there before it comes.
                    hint={
                      <span className="block min-h-8">
                        {choice !== null && <PriceHint pricing={choice.pricing} />}
                      </span>
                    }
                    error={error}
                  />
                  <Compared
                    choices={choices}
                    choice={choice}
                    other={other}
                    isWanted={draft.compared !== null && (models.isPending || other !== null)}
                    onChange={(compared) => setDraft({ compared })}
                  />
                </>
              }
            />
          </div>
          <div className="flex min-w-0 flex-col gap-4">
            {chat.exchanges.length === 0 ? (
              <EmptyState
                icon="playground"
                title="Send a message to a model"
                body="The answer is shown with its tokens, duration and cost."
              />
            ) : (
              <Conversation
                exchanges={chat.exchanges}
                sides={asked.length}
                onRetry={chat.running || !canAsk ? undefined : retry}
              />
            )}
            <Composer
              areaRef={composer}
              text={draft.text}
              onTextChange={(text) => setDraft({ text })}
              running={chat.running}
              onSend={send}
              onStop={chat.stop}
            />
          </div>
        </div>
      )}
    </>
  );
}

interface ComparedProps {
  readonly choices: readonly ModelChoice[];
  readonly choice: ModelChoice | null;
  readonly other: ModelChoice | null;
  /** Its field is drawn before the models have come, so that nothing moves then. */
  readonly isWanted: boolean;
  readonly onChange: (alias: string | null) => void;
}

/** A second model for the same question, once it is wanted: the next that can be asked, or another. */
function Compared({ choices, choice, other, isWanted, onChange }: ComparedProps) {
  const next = choices.find(({ alias, obstacle }) => obstacle === null && alias !== choice?.alias);
  if (!isWanted) {
    return (
      <Button
        icon="plus"
        disabled={choice === null || next === undefined}
        onClick={() => onChange(next?.alias ?? null)}
      >
        Compare with another model
      </Button>
    );
  }
  return (
    <div className="flex min-w-0 flex-col gap-2">
      <ModelField
        label="Compared with"
        choices={choices}
        value={other}
        onValueChange={({ alias }) => onChange(alias)}
        busy={other === null}
        hint={
          <span className="block min-h-8">{other !== null && <PriceHint pricing={other.pricing} />}</span>
        }
        error={null}
      />
      <Button icon="close" onClick={() => onChange(null)}>
        Stop comparing
      </Button>
    </div>
  );
}

function canStreamBy(choice: ModelChoice, settings: Settings): boolean {
  return toEndpoint(choice, settings) !== "chat" || choice.canStream;
}

function toAsked(choice: ModelChoice, settings: Settings): Omit<Question, "question"> {
  return {
    endpoint: toEndpoint(choice, settings),
    model: choice.alias,
    settings,
    stream: settings.stream && canStreamBy(choice, settings),
  };
}

/** The one that was chosen where the model has it, else its first. */
function toEndpoint(choice: ModelChoice | null, { endpoint: wanted }: Settings): ChatEndpoint {
  const { endpoints = [] } = choice ?? {};
  return endpoints.find((endpoint) => endpoint === wanted) ?? endpoints[0] ?? "chat";
}

/** The one in the address, else the first that can be asked. */
function findChoice(choices: readonly ModelChoice[], wanted: string | undefined): ModelChoice | null {
  if (wanted !== undefined) return choices.find(({ alias }) => alias === wanted) ?? null;
  return choices.find(({ obstacle, hidden }) => obstacle === null && !hidden) ?? null;
}

function findError(choice: ModelChoice | null, wanted: string | undefined): string | null {
  if (choice === null) {
    return wanted === undefined
      ? "Choose a model."
      : `No model is called ${wanted}, or its provider is disabled.`;
  }
  return choice.obstacle === null ? null : `${choice.alias} has ${choice.obstacle}.`;
}

/** What a model costs, before one asks it. */
function PriceHint({ pricing }: Pick<ModelChoice, "pricing">) {
  const prices = UNITS.flatMap((unit) => {
    const price = pricing[unit];
    return price === undefined ? [] : [`${UNIT_TABLE[unit].label.toLowerCase()} ${formatMoney(price)}`];
  });
  if (prices.length === 0) {
    return (
      <>
        <Unpriced /> Its requests are recorded without a cost.
      </>
    );
  }
  return `Per million: ${prices.join(", ")}.`;
}

/** Nothing here can chat, and who can change that. */
function NoModels() {
  const isAdmin = useMe().role === "admin";
  return (
    <Card>
      <EmptyState
        icon="models"
        title="No model can chat yet"
        body={
          isAdmin
            ? "Add a provider, then add one of its models with the capability Chat or Responses."
            : "Ask an administrator to add one."
        }
        action={
          isAdmin ? (
            <Link to="/providers" className={buttonClass({ variant: "primary" })}>
              Go to providers
            </Link>
          ) : (
            <SetupLink />
          )
        }
      />
    </Card>
  );
}
