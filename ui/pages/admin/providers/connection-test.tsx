import { useMutation } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { discoverModels, type Provider } from "../../../api/catalog.ts";
import { Button } from "../../../components/button.tsx";
import { Icon } from "../../../components/icon.tsx";
import { formatCount } from "../../../text/format.ts";
import { DiscoveryHelp } from "./discovery-help.tsx";

export interface ConnectionTestProps {
  readonly provider: Provider;
  /** Something is not saved yet: a test would be of what is saved. */
  readonly isChanged: boolean;
  /** Other buttons of the same line. */
  readonly children: ReactNode;
}

/** Asks the provider for its models, and says whether it answered. */
export function ConnectionTest({ provider, isChanged, children }: ConnectionTestProps) {
  const test = useMutation({ mutationFn: () => discoverModels(provider.name) });
  const { data: found, error: failure } = test;
  return (
    <div className="flex flex-col gap-3">
      <div className="flex flex-wrap gap-2">
        {children}
        <Button busy={test.isPending} onClick={() => test.mutate()}>
          {isChanged ? "Test the saved connection" : "Test"}
        </Button>
      </div>
      <div role="status">
        {found !== undefined && (
          <p className="flex items-start gap-1.5">
            <Icon name="check" className="mt-0.5 text-good" />
            It answers, and lists {formatCount(found.models.length)}{" "}
            {found.models.length === 1 ? "model" : "models"}.
          </p>
        )}
      </div>
      {failure !== null && (
        <DiscoveryHelp failure={failure} provider={provider} onRetry={() => test.mutate()} />
      )}
    </div>
  );
}
