import { useMutation, useQuery } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import {
  type DiscoveredModels,
  discoverModels,
  type Model,
  type Provider,
  type ProviderDetails,
  providerQuery,
  PROVIDERS,
} from "../../api/catalog.ts";
import { useUndo } from "../../api/changing.ts";
import type { Removal } from "../../api/resource.ts";
import { AliasList } from "../../catalog/alias-list.tsx";
import { Button } from "../../components/button.tsx";
import { Badge } from "../../components/chip.tsx";
import { ErrorNotice } from "../../components/error-notice.tsx";
import { Instant } from "../../components/instant.tsx";
import { SkeletonText } from "../../components/skeleton.tsx";
import { formatCount } from "../../text/format.ts";
import { DiscoveryHelp, FoundModels, toModelCount } from "../../providers/discovery-help.tsx";
import { SubmitButton } from "../../form/form.tsx";
import { EditForm, ProviderWizard } from "./provider-wizard.tsx";
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
  const [saves, setSaves] = useState(0);
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
      <section aria-labelledby="provider-connection" className="flex flex-col gap-3">
        <h3 id="provider-connection" className="font-semibold">
          Connection
        </h3>
        <EditForm
          provider={provider}
          onSaved={() => setSaves(saves + 1)}
          buttons={(form) => (
            <ConnectionTest provider={provider} saves={saves} isChanged={form.isChanged}>
              <SubmitButton form={form} underWay="Saving…" disabled={!form.isChanged}>
                Save changes
              </SubmitButton>
            </ConnectionTest>
          )}
        />
      </section>
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

interface ConnectionTestProps {
  readonly provider: Provider;
  /** How often it was saved: what was found out before says nothing of it now. */
  readonly saves: number;
  /** Something is not saved yet: a test is of what is saved. */
  readonly isChanged: boolean;
  /** Other buttons of the same line. */
  readonly children: ReactNode;
}

/** Asks the provider for its models, and says whether it answered. */
function ConnectionTest({ provider, saves, isChanged, children }: ConnectionTestProps) {
  const test = useMutation({ mutationFn: (_saves: number) => discoverModels(provider.name) });
  const isCurrent = test.variables === saves;
  const found = isCurrent ? test.data : undefined;
  const failure = isCurrent ? test.error : null;
  return (
    <div className="flex flex-col gap-3">
      <div className="flex flex-wrap gap-2">
        {children}
        <Button busy={test.isPending} onClick={() => test.mutate(saves)}>
          {isChanged ? "Test the saved connection" : "Test"}
        </Button>
      </div>
      <div role="status">
        {found !== undefined && <ListedModels found={found} isUntested={isChanged} />}
        {failure !== null && isChanged && <p className="text-warn">{UNTESTED}</p>}
      </div>
      {failure !== null && (
        <DiscoveryHelp failure={failure} provider={provider} onRetry={() => test.mutate(saves)} />
      )}
    </div>
  );
}

const UNTESTED = "What you typed is not saved, and was not tested.";

/** Green is for what stands in the fields alone. */
function ListedModels({
  found,
  isUntested,
}: {
  readonly found: DiscoveredModels;
  readonly isUntested: boolean;
}) {
  if (!isUntested) return <FoundModels found={found} />;
  return (
    <>
      <p>The saved connection answers, and lists {toModelCount(found)}.</p>
      <p className="text-warn">{UNTESTED}</p>
    </>
  );
}
