import { useQuery } from "@tanstack/react-query";
import { providerQuery } from "../../../api/catalog.ts";
import { ErrorNotice } from "../../../components/error-notice.tsx";
import { Progress } from "../../../components/progress.tsx";
import { BindModels, type BindModelsProps } from "./bind-models.tsx";
import { discoveryQuery } from "./discovery.ts";
import { DiscoveryHelp } from "./discovery-help.tsx";

export interface BindStepProps extends Omit<BindModelsProps, "models"> {
  readonly onEdit: () => void;
}

/** The second step: asks the provider what it has; where it cannot say, models are bound by hand. */
export function BindStep({ onEdit, ...props }: BindStepProps) {
  const provider = useQuery(providerQuery(props.provider));
  const discovery = useQuery(discoveryQuery(props.provider));
  const { data: found, error: failure } = discovery;
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
