import type { ReactNode } from "react";
import type { DiscoveredModels } from "../api/catalog.ts";
import { Button } from "../components/button.tsx";
import { classNames } from "../components/class-names.ts";
import { InlineCode } from "../components/code.tsx";
import { FOOTER_CLASS } from "../components/dialog-frame.ts";
import { ErrorNotice } from "../components/error-notice.tsx";
import { Icon } from "../components/icon.tsx";
import { type Asked, isDiscoveryFailure, toCauses } from "./discovery.ts";
import { formatCount } from "../text/format.ts";

interface DiscoveryHelpProps {
  readonly failure: Error;
  readonly provider: Asked;
  /** Absent where the button that asked is in sight. */
  readonly onRetry?: (() => void) | undefined;
  /** The failure itself is told beside this already. */
  readonly hasNotice?: boolean | undefined;
  /** Leads to the fields of the connection; absent where they are in sight. */
  readonly onEdit?: (() => void) | undefined;
}

/** Why a provider could not say what it has: what was asked, what may be the reason, and what to do. */
export function DiscoveryHelp({ failure, provider, onRetry, hasNotice = false, onEdit }: DiscoveryHelpProps) {
  if (!isDiscoveryFailure(failure)) return <ErrorNotice failure={failure} onRetry={onRetry} />;
  return (
    <div className="flex min-w-0 flex-col gap-3">
      {!hasNotice && <ErrorNotice failure={failure} compact />}
      <p className="text-ink-soft">
        Requested <InlineCode>GET {provider.base_url}/models</InlineCode>
        {provider.has_credential ? ", with the key." : ", without a key."}
      </p>
      <div>
        <h3 className="text-xs font-medium">Possible causes</h3>
        <ul className="mt-1 list-disc space-y-1 pl-5 text-ink-soft">
          {toCauses(failure, provider).map((cause) => (
            <li key={cause}>{cause}</li>
          ))}
        </ul>
      </div>
      <div className="flex flex-wrap gap-2 empty:hidden">
        {onRetry !== undefined && (
          <Button icon="refresh" onClick={onRetry}>
            Try again
          </Button>
        )}
        {onEdit !== undefined && (
          <Button icon="edit" onClick={onEdit}>
            Change the connection
          </Button>
        )}
      </div>
    </div>
  );
}

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

/** The buttons of a step, at the foot of the card or dialog that the step fills; in a dialog they stay in sight while it scrolls. */
export function StepFooter({ children }: { readonly children: ReactNode }) {
  return (
    <div
      className={classNames(
        FOOTER_CLASS,
        "-mx-4 -mb-4 px-4",
        "in-[[role=dialog]]:sticky in-[[role=dialog]]:-bottom-3 in-[[role=dialog]]:z-10 in-[[role=dialog]]:-mx-5 in-[[role=dialog]]:-mb-5 in-[[role=dialog]]:rounded-b-card in-[[role=dialog]]:bg-raised in-[[role=dialog]]:px-5 sm:in-[[role=dialog]]:-bottom-6",
      )}
    >
      {children}
    </div>
  );
}
