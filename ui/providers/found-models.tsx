import type { ReactNode } from "react";
import type { DiscoveredModels } from "../api/catalog.ts";
import { Icon } from "../components/icon.tsx";
import { formatCount } from "../text/format.ts";

interface FoundModelsProps {
  readonly found: DiscoveredModels;
  /** Follows in the same paragraph. */
  readonly children?: ReactNode;
}

/** A provider's answer to a test. One without models serves none, which is no success. */
export function FoundModels({ found, children }: FoundModelsProps): ReactNode {
  const isEmpty = found.models.length === 0;
  return (
    <p className="flex items-start gap-1.5">
      <Icon
        name={isEmpty ? "warning" : "check"}
        className={isEmpty ? "mt-0.5 text-warn" : "mt-0.5 text-good"}
      />
      <span className="min-w-0">
        {isEmpty
          ? "It answers, but lists no models. Check the base URL and what the credential may use."
          : `It answers, and lists ${toModelCount(found)}.`}
        {children}
      </span>
    </p>
  );
}

export function toModelCount({ models }: DiscoveredModels): string {
  return models.length === 1 ? "1 model" : `${formatCount(models.length)} models`;
}
