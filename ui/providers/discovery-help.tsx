import type { ReactNode } from "react";
import { flushSync } from "react-dom";
import type { TestedProvider } from "../api/catalog.ts";
import { Button } from "../components/button.tsx";
import { classNames } from "../components/class-names.ts";
import { InlineCode } from "../components/code.tsx";
import { FOOTER_CLASS } from "../components/dialog-frame.ts";
import { ErrorNotice } from "../components/error-notice.tsx";
import { Icon } from "../components/icon.tsx";
import { type Asked, isDiscoveryFailure, toCauses } from "./discovery.ts";
import type { Form } from "../form/use-form.ts";
import { formatCount } from "../text/format.ts";
import type { ProviderForm } from "./provider-form.ts";

interface DiscoveryHelpProps {
  readonly failure: Error;
  readonly provider: Asked;
  /** Absent where the button that asked is in sight. */
  readonly onRetry?: (() => void) | undefined;
  /** A form tells the failure beside this already, and is not saved. */
  readonly hasNotice?: boolean | undefined;
}

/** Why a provider could not say what it has: what was asked, what may be the reason, and what to do. */
export function DiscoveryHelp({ failure, provider, onRetry, hasNotice = false }: DiscoveryHelpProps) {
  if (!isDiscoveryFailure(failure)) return <ErrorNotice failure={failure} onRetry={onRetry} />;
  const causes = toCauses(failure, provider);
  return (
    <div className="flex min-w-0 flex-col gap-3">
      {!hasNotice && <ErrorNotice failure={failure} compact />}
      <p className="text-ink-soft">
        Requested <InlineCode>GET {provider.base_url}/models</InlineCode>
        {provider.has_credential ? ", with the key." : ", without a key."}
        {hasNotice && " Nothing is saved."}
      </p>
      {causes.length > 0 && (
        <div>
          <h3 className="text-xs font-medium">Possible causes</h3>
          <ul className="mt-1 list-disc space-y-1 pl-5 text-ink-soft">
            {causes.map((cause) => (
              <li key={cause}>{cause}</li>
            ))}
          </ul>
        </div>
      )}
      {onRetry !== undefined && (
        <Button icon="refresh" className="self-start" onClick={onRetry}>
          Try again
        </Button>
      )}
    </div>
  );
}

/** A provider's answer to a test. One without models serves none, which is no success. */
export function FoundModels({ found }: { readonly found: TestedProvider }): ReactNode {
  const { models, credential_checked: isChecked = true } = found;
  const isPassed = models.length > 0 && isChecked;
  return (
    <p className="flex items-start gap-1.5">
      <Icon
        name={isPassed ? "check" : "warning"}
        className={isPassed ? "mt-0.5 text-good" : "mt-0.5 text-warn"}
      />
      <span className="min-w-0">
        {models.length === 0
          ? "It answers, but lists no models. Check the base URL and what the credential may use."
          : `It answers, and lists ${models.length === 1 ? "1 model" : `${formatCount(models.length)} models`}.`}
        {!isChecked && " It lists them to everyone: the key itself was not tested."}
      </span>
    </p>
  );
}

interface SaveAnywayProps {
  readonly form: Form<ProviderForm>;
  /** Comes before the form is submitted. */
  readonly onPress: () => void;
}

/** Saves what its test did not let pass. */
export function SaveAnyway({ form, onPress }: SaveAnywayProps): ReactNode {
  const save = () => {
    onPress();
    if (form.findError("apiKey", "api_key") === undefined) return;
    // A field that the test has refused would keep the form from being sent.
    flushSync(() => form.set({}));
    const element = document.getElementById(form.id);
    if (element instanceof HTMLFormElement) element.requestSubmit();
  };
  return (
    <Button type="submit" form={form.id} busy={form.isPending} onClick={save}>
      Save anyway
    </Button>
  );
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
