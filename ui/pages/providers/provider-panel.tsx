import { useMutation, useQuery } from "@tanstack/react-query";
import { type ReactNode, useRef, useState } from "react";
import {
  type Model,
  type Provider,
  type ProviderDetails,
  providerQuery,
  PROVIDERS,
  restoreCredential,
  testChange,
} from "../../api/catalog.ts";
import { useUndo } from "../../api/changing.ts";
import type { Removal } from "../../api/resource.ts";
import { AliasList } from "../../catalog/alias-list.tsx";
import { Button } from "../../components/button.tsx";
import { Badge } from "../../components/chip.tsx";
import { ErrorNotice } from "../../components/error-notice.tsx";
import { Instant } from "../../components/instant.tsx";
import { toFieldError } from "../../components/field-frame.tsx";
import { SkeletonText } from "../../components/skeleton.tsx";
import { formatCount } from "../../text/format.ts";
import { ConnectionFields } from "../../providers/connection-fields.tsx";
import { DiscoveryHelp, FoundModels, SaveAnyway } from "../../providers/discovery-help.tsx";
import { isDiscoveryFailure, isTestable, updateTested } from "../../providers/discovery.ts";
import { toAsked, toProviderForm, toProviderPatch } from "../../providers/provider-form.ts";
import { Form, SubmitButton } from "../../form/form.tsx";
import { readTerms } from "../../form/read-terms.ts" with { type: "macro" };
import { REQUIRED } from "../../form/terms.ts";
import { useForm } from "../../form/use-form.ts";
import { ProviderWizard } from "./provider-wizard.tsx";
import { ChangeQuestion, RemovalFacts, RowPanel } from "../../lists/row-panel.tsx";

export interface ProviderPanelProps {
  readonly name: string;
  /** Models that it serves, names for them included. */
  readonly models: readonly Model[];
  readonly onEnable: (provider: Provider, enabled: boolean) => void;
  readonly onClose: () => void;
  /** A dialog that is open above the panel. */
  readonly children?: ReactNode;
}

/** Everything that can be changed about one provider, its models, and the way to more of them. */
export function ProviderPanel({ name, models, onEnable, onClose, children }: ProviderPanelProps) {
  const provider = useQuery(providerQuery(name));
  return (
    <RowPanel
      rowId={name}
      onClose={onClose}
      title={name}
      description={
        provider.data !== undefined && (
          <span className="flex flex-wrap items-center gap-2 text-xs">
            <Badge tone={provider.data.enabled ? "good" : "warn"}>
              {provider.data.enabled ? "enabled" : "disabled"}
            </Badge>
            <span>
              added <Instant value={provider.data.created_at} format="minute" />
            </span>
          </span>
        )
      }
    >
      {provider.error !== null && (
        <ErrorNotice failure={provider.error} onRetry={() => void provider.refetch()} />
      )}
      {provider.isPending && <SkeletonText lines={12} />}
      {provider.data !== undefined && (
        <Settings
          key={provider.data.name}
          provider={provider.data}
          models={models}
          onEnable={onEnable}
          onClose={onClose}
        />
      )}
      {children}
    </RowPanel>
  );
}

interface SettingsProps extends Omit<ProviderPanelProps, "name" | "children"> {
  readonly provider: ProviderDetails;
}

function Settings({ provider, models, onEnable, onClose }: SettingsProps) {
  const [isDeleting, setDeleting] = useState(false);
  const [isBinding, setBinding] = useState(false);
  return (
    <>
      <section aria-labelledby="provider-models" className="flex flex-col gap-2">
        <h3 id="provider-models" className="font-semibold">
          Models <span className="font-normal text-ink-faint">{formatCount(models.length)}</span>
        </h3>
        {models.length === 0 ? (
          <p className="text-ink-soft">No models yet. Discover the provider's models and add them.</p>
        ) : (
          <AliasList label={`Models of ${provider.name}`} aliases={toAliases(models)} />
        )}
        <Button
          icon="search"
          variant={models.length === 0 ? "primary" : "secondary"}
          className="self-start"
          onClick={() => setBinding(true)}
        >
          Discover models
        </Button>
      </section>
      <Connection provider={provider} />
      <section aria-labelledby="provider-end" className="flex flex-col gap-3 border-t border-line pt-4">
        <h3 id="provider-end" className="font-semibold">
          Disable or delete
        </h3>
        <p className="text-ink-soft">
          Disabling keeps its settings and models. Deleting removes its models and their other names too.
        </p>
        <div className="flex flex-wrap gap-2">
          <Button onClick={() => onEnable(provider, !provider.enabled)}>
            {provider.enabled ? "Disable" : "Enable"}
          </Button>
          <Button icon="trash" variant="danger" onClick={() => setDeleting(true)}>
            Delete
          </Button>
        </div>
      </section>
      {isDeleting && (
        <ChangeQuestion
          title={`Delete ${provider.name}?`}
          body={
            <div className="flex flex-col gap-2">
              <p>Its address, key and settings are removed. Past usage stays in the reports.</p>
              <RemovalFacts of={PROVIDERS.removal(provider.name)}>{toRemovedModels}</RemovalFacts>
            </div>
          }
          confirmLabel="Delete provider"
          requireText={provider.name}
          change={PROVIDERS.remove}
          wanted={{ id: provider.name, from: provider }}
          done={() => ({ title: `${provider.name} deleted` })}
          onClose={() => setDeleting(false)}
          onDone={onClose}
        />
      )}
      {isBinding && (
        <ProviderWizard provider={provider.name} takenNames={[]} onClose={() => setBinding(false)} />
      )}
    </>
  );
}

interface DisableQuestionProps {
  readonly provider: string;
  /** Models that it serves, names for them included. */
  readonly models: readonly Model[];
  readonly onClose: () => void;
}

/** Asks before a provider stops serving, and says which names stop with it. */
export function DisableQuestion({ provider, models, onClose }: DisableQuestionProps) {
  const undo = useUndo();
  return (
    <ChangeQuestion
      title={`Disable ${provider}?`}
      body={
        <>
          <p>
            {models.length === 0
              ? "No model uses it, so no request is refused."
              : "Until it is enabled again, these models are not listed, and requests for them are refused with model_not_found:"}
          </p>
          {models.length > 0 && <AliasList label="Disabled models" aliases={toAliases(models)} />}
        </>
      }
      confirmLabel="Disable provider"
      change={PROVIDERS.update}
      wanted={{ id: provider, patch: { enabled: false } }}
      done={(from) => ({
        title: `${provider} is disabled`,
        body: "Nothing was deleted.",
        action: undo(
          PROVIDERS.update,
          { id: provider, patch: { enabled: true }, from },
          `${provider} is enabled again`,
        ),
      })}
      onClose={onClose}
    />
  );
}

/** The models that are removed with a provider, and the other names of them. */
function toRemovedModels(removal: Removal): ReactNode {
  const { models = [], names = [] } = removal;
  return (
    <>
      {models.length > 0 && (
        <div>
          <p>Its models are removed too:</p>
          <AliasList label="Models removed with it" aliases={models} />
        </div>
      )}
      {names.length > 0 && (
        <div>
          <p>and these other names of them:</p>
          <AliasList label="Names removed with it" aliases={names} />
        </div>
      )}
      {models.length > 0 && <p>Requests for any of these are refused.</p>}
    </>
  );
}

function toAliases(models: readonly Model[]): readonly string[] {
  return models.map(({ alias }) => alias);
}

/** The fields of the connection: only what was changed is sent, and saved once its test has passed. */
function Connection({ provider }: { readonly provider: ProviderDetails }) {
  const undo = useUndo();
  const skipsTest = useRef(false);
  const test = useMutation({ mutationFn: () => testChange(provider.name, {}) });
  const form = useForm({
    name: "edit-provider",
    begin: toProviderForm(provider),
    terms: readTerms("ProviderPatchRequest"),
    check: ({ baseUrl }) => ({ base_url: baseUrl.trim() === "" ? REQUIRED : undefined }),
    change: updateTested,
    stored: { kind: "provider", view: provider },
    toAsked: (typed, from) => {
      const patch = toProviderPatch(typed, provider);
      const asked = { id: provider.name, patch, from, skipsTest: skipsTest.current };
      skipsTest.current = false;
      return Object.keys(patch).length === 0 ? null : asked;
    },
    done: (saved, { patch, skipsTest: wasSkipped }) => ({
      title: `${saved.name} saved`,
      body: `${isTestable(patch) && !wasSkipped ? "Tested; applies" : "Applies"} from the next request.`,
      ...(patch?.api_key !== undefined &&
        saved.former_credential_until !== undefined && {
          action: undo(restoreCredential, saved, `${saved.name} has its former key again`),
        }),
    }),
    // What was found out before says nothing of it now.
    onSaved: test.reset,
  });
  const { failure, values, isChanged } = form;
  const isTested = isTestable(toProviderPatch(values, provider));
  const isUnanswered = failure !== null && isDiscoveryFailure(failure);
  // A stored key is not sent to an address that was only typed.
  const isUntestable = values.apiKey === "" && toFieldError(failure, "api_key") !== undefined;
  return (
    <section aria-labelledby="provider-connection" className="flex flex-col gap-3">
      <h3 id="provider-connection" className="font-semibold">
        Connection
      </h3>
      <Form form={form}>
        <ConnectionFields form={form} before={provider} />
      </Form>
      {isUnanswered && <DiscoveryHelp failure={failure} provider={toAsked(values, provider)} hasNotice />}
      <div className="flex flex-wrap gap-2">
        {(isUnanswered || isUntestable) && (
          <SaveAnyway form={form} onPress={() => (skipsTest.current = true)} />
        )}
        <SubmitButton form={form} underWay={isTested ? "Testing…" : "Saving…"} disabled={!isChanged}>
          {isTested ? "Test and save" : "Save changes"}
        </SubmitButton>
        {!isChanged && (
          <Button busy={test.isPending} onClick={() => test.mutate()}>
            Test
          </Button>
        )}
      </div>
      <div role="status">{!isChanged && test.data !== undefined && <FoundModels found={test.data} />}</div>
      {!isChanged && test.error !== null && (
        <DiscoveryHelp failure={test.error} provider={provider} onRetry={() => test.mutate()} />
      )}
    </section>
  );
}
