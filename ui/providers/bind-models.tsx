import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { type SubmitEvent, useDeferredValue, useEffect, useMemo, useReducer, useRef, useState } from "react";
import { UPSTREAM_NAME_LENGTH_MAX } from "#kernel/text.ts";
import {
  type DiscoveredModels,
  listPricesQuery,
  MODELS,
  pricingQuery,
  providerQuery,
} from "../api/catalog.ts";
import { ApiFailure } from "../api/failure.ts";
import { toListedVariants, toOwnPrices } from "../catalog/price-set.ts";
import { Button, buttonClass } from "../components/button.tsx";
import { ErrorNotice } from "../components/error-notice.tsx";
import { Icon } from "../components/icon.tsx";
import { Progress } from "../components/progress.tsx";
import { TextField } from "../components/text-field.tsx";
import { useDiscardQuestion } from "../form/discard-question.tsx";
import { hasUnsaved, mayDiscard } from "../form/unsaved.ts";
import {
  type BindAction,
  type BindRow,
  type BindRows,
  canFill,
  changeBindRows,
  toBindRows,
  toDraft,
} from "./bind-rows.ts";
import { BindTable } from "./bind-table.tsx";
import { DiscoveryHelp, StepFooter } from "./discovery-help.tsx";
import { discoveryQuery } from "./discovery.ts";
import { formatCount } from "../text/format.ts";

interface BindStepProps extends Omit<BindModelsProps, "models"> {
  /** What the test before it was saved has listed; null asks the provider now. */
  readonly found: DiscoveredModels | null;
}

/** The second step: what the provider has, to be ticked; where it cannot say, models are added by name. */
export function BindStep({ found: tested, ...props }: BindStepProps) {
  const provider = useQuery(providerQuery(props.provider));
  const discovery = useQuery({ ...discoveryQuery(props.provider), enabled: tested === null });
  const found = tested ?? discovery.data;
  const failure = tested === null ? discovery.error : null;
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
        <DiscoveryHelp failure={failure} provider={provider.data} onRetry={() => void discovery.refetch()} />
      )}
      <BindModels key={found?.discovered_at ?? "none"} {...props} models={found?.models ?? []} />
    </div>
  );
}

interface BindModelsProps {
  readonly provider: string;
  readonly models: DiscoveredModels["models"];
  readonly onDone: () => void;
  /** Called when everything that was ticked is added. */
  readonly onAllAdded?: ((aliases: readonly string[]) => void) | undefined;
  /** Called with whether models are being added, so that a run is not left by accident. */
  readonly onBusyChange?: ((isBusy: boolean) => void) | undefined;
}

/** Tick, then add: what succeeds shows its alias, what fails stays in the list with its reason. */
function BindModels({ provider, models, onDone, onAllAdded, onBusyChange }: BindModelsProps) {
  const [typed, setTyped] = useState("");
  const wanted = useDeferredValue(typed.trim().toLowerCase());
  const { rows, change, progress, outcome, start, stop } = useBindRun(provider, models, {
    onBusyChange,
    onAllAdded,
  });
  const pricing = useQuery(pricingQuery());
  const { data: list } = useQuery(listPricesQuery());
  const listed = useMemo(() => toOwnPrices(list?.entries ?? []), [list]);
  const variants = useMemo(() => toListedVariants(list?.entries ?? []), [list]);
  const kept = useMemo(() => toOwnPrices(pricing.data?.entries ?? []), [pricing.data]);
  const all = useMemo(() => [...rows.values()], [rows]);
  const fillable = all.filter((row) => canFill(row) && listed.has(row.upstreamName)).length;
  const shown = useMemo(
    () => all.filter(({ upstreamName, alias }) => `${upstreamName}\n${alias}`.toLowerCase().includes(wanted)),
    [all, wanted],
  );
  const free = shown.filter((row) => row.boundAlias === null && row.isOffered);
  const ticked = all.filter(({ isTicked }) => isTicked);
  const isBusy = progress !== null;
  const [byHand, setByHand] = useState("");
  const question = useDiscardQuestion({
    isTouched: () => byHand.trim() !== "" || ticked.length > 0,
    discard: () => {
      setByHand("");
      change({
        kind: "tick",
        upstreamNames: ticked.map(({ upstreamName }) => upstreamName),
        isTicked: false,
      });
    },
  });
  const leave = () => {
    if (!hasUnsaved()) onDone();
    else void mayDiscard().then((isDiscarded) => isDiscarded && onDone());
  };
  const tick = (isTicked: boolean) =>
    change({
      kind: "tick",
      upstreamNames: (isTicked ? free : ticked).map(({ upstreamName }) => upstreamName),
      isTicked,
    });
  return (
    <div className="flex flex-col gap-4">
      {all.length > 0 && (
        <>
          <div className="flex flex-wrap items-end justify-between gap-x-4 gap-y-2">
            <TextField
              label="Find a model"
              labelHidden
              type="search"
              icon="search"
              placeholder={`Search ${formatCount(all.length)} models`}
              className="min-w-48 flex-1"
              value={typed}
              onValueChange={setTyped}
            />
            <div className="flex flex-wrap gap-2">
              <Button disabled={isBusy || free.length === 0} onClick={() => tick(true)}>
                Select {wanted === "" ? "all" : "found"} ({formatCount(free.length)})
              </Button>
              <Button disabled={isBusy || ticked.length === 0} onClick={() => tick(false)}>
                Select none
              </Button>
              {list !== undefined && fillable > 0 && (
                <Button
                  disabled={isBusy}
                  title={`${list.source}, as of ${list.as_of}. Review them before you add the models.`}
                  onClick={() => change({ kind: "fill", prices: listed, variants })}
                >
                  Fill in list prices of {list.as_of} ({formatCount(fillable)})
                </Button>
              )}
            </div>
          </div>
          <BindTable rows={shown} onChange={change} kept={kept} disabled={isBusy} />
        </>
      )}
      <ByHand
        upstreamName={byHand}
        onType={setByHand}
        disabled={isBusy}
        onAdd={(upstreamName) => change({ kind: "add", upstreamName })}
      />
      {question}
      <StepFooter>
        <div className={progress === null && outcome === null ? "flex-1" : "min-w-40 flex-1"}>
          {progress !== null ? (
            <Progress
              label="Adding"
              ratio={progress.done / progress.total}
              detail={`${formatCount(progress.done)} of ${formatCount(progress.total)}`}
            />
          ) : (
            <Summary outcome={outcome} provider={provider} />
          )}
        </div>
        <Button onClick={isBusy ? stop : leave}>
          {isBusy ? "Stop" : outcome === null ? "Later" : "Close"}
        </Button>
        <Button variant="primary" busy={isBusy} disabled={ticked.length === 0 && !isBusy} onClick={start}>
          {toAddLabel(ticked.length)}
        </Button>
      </StepFooter>
    </div>
  );
}

function toAddLabel(count: number): string {
  if (count === 0) return "Add models";
  return count === 1 ? "Add 1 model" : `Add ${formatCount(count)} models`;
}

function Summary({ outcome, provider }: { readonly outcome: BindOutcome | null; readonly provider: string }) {
  return (
    <div role="status" className="flex flex-wrap items-center gap-x-3 gap-y-2">
      {outcome !== null && (
        <>
          <span className="inline-flex items-center gap-1.5">
            <Icon
              name={outcome.failed > 0 ? "warning" : "check"}
              className={outcome.failed > 0 ? "text-warn" : "text-good"}
            />
            {toWords(outcome)}
          </span>
          {outcome.bound > 0 && (
            <Link to="/models" search={{ provider }} className={buttonClass({ size: "sm" })}>
              Show them in Models
            </Link>
          )}
        </>
      )}
    </div>
  );
}

function toWords({ bound, failed, isStopped }: BindOutcome): string {
  const parts = [
    `${formatCount(bound)} added`,
    ...(failed > 0 ? [`${formatCount(failed)} failed, with the reason in the list`] : []),
    ...(isStopped ? ["stopped early"] : []),
  ];
  return `${parts.join("; ")}.`;
}

interface ByHandProps {
  readonly upstreamName: string;
  readonly onType: (upstreamName: string) => void;
  readonly onAdd: (upstreamName: string) => void;
  readonly disabled: boolean;
}

/** A model that the provider does not list, by the name that it goes by there. */
function ByHand({ upstreamName, onType, onAdd, disabled }: ByHandProps) {
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    if (upstreamName.trim() === "" || disabled) return;
    onAdd(upstreamName.trim());
    onType("");
  };
  return (
    <form onSubmit={submit} className="flex flex-wrap items-end gap-2">
      <TextField
        label="Add a model that is not listed"
        placeholder="Upstream name"
        mono
        className="min-w-48 flex-1"
        lengthMax={UPSTREAM_NAME_LENGTH_MAX}
        value={upstreamName}
        disabled={disabled}
        onValueChange={onType}
      />
      <Button type="submit" icon="plus" disabled={disabled || upstreamName.trim() === ""}>
        Add to the list
      </Button>
    </form>
  );
}

/** How far a run has come. */
interface BindProgress {
  readonly done: number;
  readonly total: number;
}

interface BindOutcome {
  readonly bound: number;
  readonly failed: number;
  readonly isStopped: boolean;
}

interface BindRun {
  readonly rows: BindRows;
  readonly change: (action: BindAction) => void;
  /** Null: nothing is being bound. */
  readonly progress: BindProgress | null;
  /** The result of the last run; null before the first. */
  readonly outcome: BindOutcome | null;
  /**
   * Binds what is ticked, one after the other; what fails stays ticked with its reason. The end of the session ends the run.
   */
  readonly start: () => void;
  /** Ends the run after the model that is under way. */
  readonly stop: () => void;
}

interface BindListeners {
  readonly onBusyChange: ((isBusy: boolean) => void) | undefined;
  /** Called at the end of a run in which nothing failed. */
  readonly onAllAdded: ((aliases: readonly string[]) => void) | undefined;
}

/** The choice of models of one provider, and the binding of them. */
function useBindRun(
  provider: string,
  discovered: DiscoveredModels["models"],
  { onBusyChange, onAllAdded }: BindListeners,
): BindRun {
  const client = useQueryClient();
  const [rows, change] = useReducer(changeBindRows, discovered, toBindRows);
  const [progress, setProgress] = useState<BindProgress | null>(null);
  const [outcome, setOutcome] = useState<BindOutcome | null>(null);
  const isStopped = useRef(false);
  // Left in the middle of a run: the rest is not bound behind one's back.
  useEffect(
    () => () => {
      isStopped.current = true;
    },
    [],
  );

  const run = async (chosen: readonly BindRow[]) => {
    const aliases: string[] = [];
    let failed = 0;
    isStopped.current = false;
    setOutcome(null);
    onBusyChange?.(true);
    for (const [index, row] of chosen.entries()) {
      if (isStopped.current) break;
      setProgress({ done: index, total: chosen.length });
      try {
        const { alias } = await MODELS.create.run(toDraft(provider, row));
        change({ kind: "bound", upstreamName: row.upstreamName, alias });
        aliases.push(alias);
      } catch (failure) {
        if (!(failure instanceof Error)) throw failure;
        change({ kind: "failed", upstreamName: row.upstreamName, failure });
        failed += 1;
        // The session has ended: the rest would be refused as well.
        if (failure instanceof ApiFailure && failure.status === 401) isStopped.current = true;
      }
    }
    await MODELS.create.refresh(client);
    setProgress(null);
    onBusyChange?.(false);
    setOutcome({ bound: aliases.length, failed, isStopped: isStopped.current });
    if (aliases.length === chosen.length) onAllAdded?.(aliases);
  };

  return {
    rows,
    change,
    progress,
    outcome,
    start: () => {
      const chosen = [...rows.values()].filter(({ isTicked, boundAlias }) => isTicked && boundAlias === null);
      if (progress === null && chosen.length > 0) void run(chosen);
    },
    stop: () => {
      isStopped.current = true;
    },
  };
}
