import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { SECRET_VARIABLES } from "#snippets/client.ts";
import { CURL } from "#snippets/curl.ts";
import { listedModelsQuery } from "../api/models.ts";
import { CodeBlock, InlineCode } from "../components/code.tsx";
import { Spinner } from "../components/progress.tsx";

/** What to paste for the first request; the page waits for it to arrive. */
export function FirstRequest() {
  const { data: models } = useQuery(listedModelsQuery({ endpoint: "chat" }));
  const model = models?.[0]?.id ?? null;
  const { origin } = globalThis.location;
  return (
    <div className="mt-3 flex flex-col gap-3">
      <CodeBlock language="Shell" code={CURL.snippets.chat({ origin, model, secret: null })} />
      <p className="max-w-prose text-ink-soft">
        Set <InlineCode>{SECRET_VARIABLES.openai}</InlineCode> to your key first, or try a model in the{" "}
        <Link to="/playground" className="font-medium text-accent hover:underline">
          playground
        </Link>
        .
      </p>
      <p className="flex items-center gap-2 text-ink-soft">
        <Spinner />
        Waiting for the first request. It is detected automatically.
      </p>
    </div>
  );
}
