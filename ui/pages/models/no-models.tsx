import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { useMe } from "../../api/session.ts";
import { Button, buttonClass } from "../../components/button.tsx";
import { EmptyState } from "../../components/empty.tsx";
import type { ModelsSearch } from "../../search/pages.ts";
import { SetupLink } from "../../setup/setup-link.tsx";

export interface NoModelsProps {
  /** There are models, and the filters leave none of them. */
  readonly isFiltered: boolean;
  readonly search: ModelsSearch;
  readonly onChange: (patch: ModelsSearch) => void;
}

/** Why the list is empty, and the way on for whoever looks at it. */
export function NoModels({ isFiltered, search, onChange }: NoModelsProps) {
  const showHidden = search.hidden !== "1" && (
    <Button onClick={() => onChange({ hidden: "1" })}>Show hidden ones</Button>
  );
  if (isFiltered) {
    return (
      <EmptyState
        icon="search"
        title="No model matches"
        action={
          <>
            <Button onClick={() => onChange({ q: undefined, capability: undefined })}>Clear filters</Button>
            {showHidden}
          </>
        }
      />
    );
  }
  return <NothingServed showHidden={showHidden} />;
}

function NothingServed({ showHidden }: { readonly showHidden: ReactNode }) {
  const { role } = useMe();
  if (role !== "admin") {
    return (
      <EmptyState
        icon="models"
        title="No model is served yet"
        body="Your admins bind models to the names that you will call them by. Ask one of them."
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
      title="No model is served yet"
      body="Add a provider, let it list its models, and bind the ones that your team may use. Models of a disabled provider are not served."
      action={
        <>
          {showHidden}
          <Link to="/catalogue" className={buttonClass()}>
            Go to the catalogue
          </Link>
          <Link to="/providers" className={buttonClass({ variant: "primary" })}>
            Go to the providers
          </Link>
        </>
      }
    />
  );
}
