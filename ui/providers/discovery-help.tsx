import { Button } from "../components/button.tsx";
import { InlineCode } from "../components/code.tsx";
import { ErrorNotice } from "../components/error-notice.tsx";
import { type Asked, isDiscoveryFailure, toCauses } from "./discovery.ts";

export interface DiscoveryHelpProps {
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
