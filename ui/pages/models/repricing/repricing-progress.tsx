import { isUnderWay, type RepricingRow } from "../../../api/repricing.ts";
import { Badge, type Tone } from "../../../components/chip.tsx";
import { Progress } from "../../../components/progress.tsx";
import { formatCount, formatCounted } from "../../../text/format.ts";

type Stage = Pick<RepricingRow, "state" | "total" | "progress">;

/** How far one is that is under way. How many requests a plan will have looked at is known at its end. */
export function RepricingProgress({ repricing }: { readonly repricing: Stage }) {
  const { state, progress } = repricing;
  const { done, total } = progress;
  if (state === "planned") {
    return (
      <Progress label="Making the plan" ratio={null} detail={`${formatCounted(done, "request")} looked at`} />
    );
  }
  const isBack = state === "reverting";
  return (
    <Progress
      label={isBack ? "Taking it back" : "Applying"}
      ratio={total === 0 ? null : (isBack ? total - done : done) / total}
      detail={
        isBack
          ? `${formatCounted(done, "request")} left`
          : `${formatCount(done)} of ${formatCounted(total, "request")}`
      }
    />
  );
}

interface StateWords {
  readonly word: string;
  readonly tone: Tone;
}

const STATES: { readonly [state in RepricingRow["state"]]: StateWords } = {
  planned: { word: "Planned", tone: "neutral" },
  running: { word: "Applying", tone: "accent" },
  applied: { word: "Applied", tone: "good" },
  reverting: { word: "Taking back", tone: "accent" },
  reverted: { word: "Taken back", tone: "neutral" },
  failed: { word: "Failed", tone: "bad" },
};

export function StateBadge({ repricing }: { readonly repricing: Stage }) {
  const { state } = repricing;
  const { word, tone } =
    state === "planned" && isUnderWay(repricing)
      ? { word: "Planning", tone: "accent" as const }
      : STATES[state];
  return <Badge tone={tone}>{word}</Badge>;
}
