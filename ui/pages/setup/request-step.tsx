import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { listedModelsQuery } from "../../api/models.ts";
import { SecretReveal } from "../../secrets/secret-reveal.tsx";
import { KEY } from "../../secrets/secret-kind.ts";
import { useUncopied } from "../../secrets/secret-reveal.tsx";
import { FirstRequest } from "../../setup/first-request.tsx";
import { Snippets } from "../../snippets/snippets.tsx";
import type { NewKey } from "./key-step.tsx";

export interface RequestStepProps {
  /** Null: it was made earlier, and is shown no more. */
  readonly newKey: NewKey | null;
  /** A model that was just added; without one, the first that the example can call. */
  readonly alias: string | null;
}

/** The last step: what to paste, and the request that comes of it. */
export function RequestStep({ newKey, alias }: RequestStepProps) {
  const [isCopied, setCopied] = useState(newKey === null);
  const question = useUncopied(KEY, isCopied);
  const { data: models } = useQuery(listedModelsQuery());
  const model = models?.find(({ id }) => id === alias);
  return (
    <div className="flex min-w-0 flex-col gap-4">
      {newKey !== null && (
        <SecretReveal secret={newKey.secret} label={KEY.title} onCopied={() => setCopied(true)} />
      )}
      <Snippets
        kind="openai"
        model={model?.id}
        capabilities={model?.capabilities}
        secret={newKey?.secret}
        onCopied={() => setCopied(true)}
      />
      <FirstRequest keyId={newKey?.id} />
      <p className="text-ink-soft">
        No shell at hand?{" "}
        <Link
          to="/playground"
          search={{ model: model?.id }}
          className="font-medium text-accent underline-offset-2 hover:underline"
        >
          Try it in the playground
        </Link>
        .
      </p>
      {question}
    </div>
  );
}
