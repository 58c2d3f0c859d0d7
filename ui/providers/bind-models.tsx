import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { type SubmitEvent, useDeferredValue, useMemo, useState } from "react";
import { UPSTREAM_NAME_LENGTH_MAX } from "#kernel/text.ts";
import { type DiscoveredModels, listPricesQuery, pricingQuery } from "../api/catalog.ts";
import { toOwnPrices } from "../catalog/price-set.ts";
import { Button, buttonClass } from "../components/button.tsx";
import { Icon } from "../components/icon.tsx";
import { Progress } from "../components/progress.tsx";
import { TextField } from "../components/text-field.tsx";
import { useDiscardQuestion } from "../form/discard-question.tsx";
import { hasUnsaved, mayDiscard } from "../form/unsaved.ts";
import { formatCount } from "../text/format.ts";
import { canFill } from "./bind-rows.ts";
import { BindTable } from "./bind-table.tsx";
import { StepFooter } from "./step-footer.tsx";
import { type BindOutcome, useBindRun } from "./use-bind-run.ts";

export interface BindModelsProps {
  readonly provider: string;
  readonly models: DiscoveredModels["models"];
  readonly onDone: () => void;
  /** Called when everything that was ticked is added. */
  readonly onAllAdded?: ((aliases: readonly string[]) => void) | undefined;
  /** Called with whether models are being added, so that a run is not left by accident. */
  readonly onBusyChange?: ((isBusy: boolean) => void) | undefined;
}

/** Tick, then add: what succeeds shows its alias, what fails stays in the list with its reason. */
export function BindModels({ provider, models, onDone, onAllAdded, onBusyChange }: BindModelsProps) {
  const [typed, setTyped] = useState("");
  const wanted = useDeferredValue(typed.trim().toLowerCase());
  const { rows, change, progress, outcome, start, stop } = useBindRun(provider, models, {
    onBusyChange,
    onAllAdded,
  });
  const pricing = useQuery(pricingQuery());
  const { data: list } = useQuery(listPricesQuery());
  const listed = useMemo(() => toOwnPrices(list?.entries ?? []), [list]);
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
                  onClick={() => change({ kind: "fill", prices: listed })}
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
