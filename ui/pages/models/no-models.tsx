import { Link } from "@tanstack/react-router";
import { useMe } from "../../api/session.ts";
import { Button, buttonClass } from "../../components/button.tsx";
import { EmptyState } from "../../components/empty.tsx";
import type { ModelsSearch } from "../../search/pages.ts";
import { SetupLink } from "../../setup/setup-link.tsx";

export interface NoModelsProps {
  /** There are models, and the filters leave none of them. */
  readonly isFiltered: boolean;
  readonly canShowHidden: boolean;
  readonly hasProviders: boolean;
  readonly onChange: (patch: ModelsSearch) => void;
}

/** Says why the list is empty, and leads on. */
export function NoModels({ isFiltered, canShowHidden, hasProviders, onChange }: NoModelsProps) {
  const { role } = useMe();
  const showHidden = canShowHidden && <Button onClick={() => onChange({ hidden: "1" })}>Show hidden</Button>;
  if (isFiltered) {
    return (
      <EmptyState
        icon="search"
        title="No model matches"
        action={
          <>
            <Button onClick={() => onChange({ q: undefined, capability: undefined, provider: undefined })}>
              Clear filters
            </Button>
            {showHidden}
          </>
        }
      />
    );
  }
  if (role !== "admin") {
    return (
      <EmptyState
        icon="models"
        title="No models yet"
        body="An administrator adds models and the names that you call them by. Ask one of yours."
        action={
          <>
            {showHidden}
            <SetupLink />
          </>
        }
      />
    );
  }
  return (
    <EmptyState
      icon="models"
      title="No models yet"
      body={
        hasProviders
          ? "Discover the models of a provider and add those that your team may use."
          : "Add a provider first, then add its models."
      }
      action={
        hasProviders ? (
          <Link to="/providers" className={buttonClass({ variant: "primary" })}>
            Go to providers
          </Link>
        ) : (
          <SetupLink />
        )
      }
    />
  );
}
