import type { ListedModel, ModelPricing } from "../../api/models.ts";
import { CAPABILITY_LABEL } from "../../components/capability.tsx";

/** A model as the playground lists it. */
export interface ModelChoice {
  readonly alias: string;
  readonly provider: string;
  readonly hidden: boolean;
  /** Why it cannot be asked here; null when it can. */
  readonly obstacle: string | null;
  readonly canStream: boolean;
  readonly pricing: ModelPricing;
}

/** Those that can chat first, then the others with the reason; each part in the order of the list. */
export function toModelChoices(models: readonly ListedModel[]): readonly ModelChoice[] {
  const choices = models.map((model) => ({
    alias: model.id,
    provider: model.owned_by,
    hidden: model.hidden,
    obstacle: findObstacle(model),
    canStream: model.capabilities.includes("chat_stream"),
    pricing: model.pricing ?? {},
  }));
  return [
    ...choices.filter(({ obstacle }) => obstacle === null),
    ...choices.filter(({ obstacle }) => obstacle !== null),
  ];
}

function findObstacle({ capabilities }: ListedModel): string | null {
  if (capabilities.includes("chat")) return null;
  const others = capabilities.map((capability) => CAPABILITY_LABEL[capability].toLowerCase());
  return others.length === 0 ? "no capability declared" : `${others.join(", ")} only: it cannot chat`;
}
