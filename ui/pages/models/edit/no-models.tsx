import { Link } from "@tanstack/react-router";
import { Button, buttonClass } from "../../../components/button.tsx";
import { EmptyState } from "../../../components/empty.tsx";

export interface NoModelsProps {
  /** There are some, which the filters leave out. */
  readonly isFiltered: boolean;
  readonly hasProviders: boolean;
  readonly onClear: () => void;
}

/** An empty catalogue, and what comes first. */
export function NoModels({ isFiltered, hasProviders, onClear }: NoModelsProps) {
  if (isFiltered) {
    return (
      <EmptyState
        icon="search"
        title="No model matches"
        action={<Button onClick={onClear}>Clear filters</Button>}
      />
    );
  }
  return (
    <EmptyState
      icon="catalogue"
      title="Nothing can be called yet"
      body={
        hasProviders
          ? "Let a provider list its models, and bind the ones that your team may use."
          : "Add a provider first; then bind its models."
      }
      action={
        <Link to="/providers" className={buttonClass({ variant: "primary" })}>
          Go to the providers
        </Link>
      }
    />
  );
}
