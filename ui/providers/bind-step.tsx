import { useQuery } from "@tanstack/react-query";
import { type DiscoveredModels, providerQuery } from "../api/catalog.ts";
import { ErrorNotice } from "../components/error-notice.tsx";
import { Progress } from "../components/progress.tsx";
import { BindModels, type BindModelsProps } from "./bind-models.tsx";
import { DiscoveryHelp } from "./discovery-help.tsx";
import { discoveryQuery } from "./discovery.ts";

export interface BindStepProps extends Omit<BindModelsProps, "models"> {
  /** What the test before it was saved has listed; null asks the provider now. */
  readonly found: DiscoveredModels | null;
  readonly onEdit?: (() => void) | undefined;
}

/** The second step: what the provider has, to be ticked; where it cannot say, models are added by name. */
export function BindStep({ found: tested, onEdit, ...props }: BindStepProps) {
  const provider = useQuery(providerQuery(props.provider));
  const discovery = useQuery({ ...discoveryQuery(props.provider), enabled: tested === null });
  const found = tested ?? discovery.data;
  const failure = tested === null ? discovery.error : null;
  if (provider.data === undefined && provider.error !== null)
    return <ErrorNotice failure={provider.error} onRetry={() => void provider.refetch()} />;
  if (provider.data === undefined || discovery.isFetching) {
    return (
      <div className="min-h-64">
        <Progress
          label={`Asking ${provider.data === undefined ? props.provider : `${provider.data.base_url}/models`}`}
          ratio={null}
        />
      </div>
    );
  }
  return (
    <div className="flex flex-col gap-5">
      {failure !== null && (
        <DiscoveryHelp
          failure={failure}
          provider={provider.data}
          onRetry={() => void discovery.refetch()}
          onEdit={onEdit}
        />
      )}
      <BindModels key={found?.discovered_at ?? "none"} {...props} models={found?.models ?? []} />
    </div>
  );
}
