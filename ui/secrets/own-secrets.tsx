import { useRef, useState, type ReactNode } from "react";
import { Button } from "../components/button.tsx";
import { Card } from "../components/card.tsx";
import { EmptyState } from "../components/empty.tsx";
import { PageHead } from "../components/page-head.tsx";
import { Skeleton } from "../components/skeleton.tsx";
import { Snippets } from "../snippets/snippets.tsx";
import { CreateSecret, type CreatedSecret, type CreateSecretProps } from "./create-secret.tsx";
import { SecretList, type SecretListProps } from "./secret-list.tsx";

export interface OwnSecretsProps<Created extends CreatedSecret> extends Pick<
  SecretListProps,
  "kind" | "caption" | "answer" | "remove" | "update" | "rotate"
> {
  readonly title: string;
  readonly lead: string;
  /** Says what to create one for. */
  readonly emptyText: string;
  readonly create: CreateSecretProps<Created>["change"];
  /** Stands above the list, which then waits for it: false is no notice. */
  readonly notice?: ReactNode;
}

/** A page of the reader's own keys or relay tokens: create one, paste it into a client, delete it. */
export function OwnSecrets<Created extends CreatedSecret>(props: OwnSecretsProps<Created>) {
  const { kind, answer, create } = props;
  const [creating, setCreating] = useState(false);
  const opener = useRef<HTMLButtonElement>(null);
  const isWaiting = answer.isPending && props.notice !== undefined;
  return (
    <>
      <PageHead
        title={props.title}
        lead={props.lead}
        actions={
          <Button ref={opener} variant="primary" icon="plus" onClick={() => setCreating(true)}>
            Create a {kind.noun}
          </Button>
        }
      />
      {props.notice}
      {isWaiting ? (
        <div aria-busy>
          <Skeleton className="h-64 w-full" />
        </div>
      ) : (
        <Card flush>
          <SecretList
            kind={kind}
            caption={props.caption}
            answer={answer}
            remove={props.remove}
            update={props.update}
            rotate={props.rotate}
            layout="own"
            empty={
              <EmptyState
                icon={kind.icon}
                title={`You have no ${kind.noun} yet`}
                body={props.emptyText}
                action={<Button onClick={() => setCreating(true)}>Create your first {kind.noun}</Button>}
              />
            }
          />
        </Card>
      )}
      {/* The list has a length that is unknown at first: what is below comes after it, and is not pushed down. */}
      {!answer.isPending && (
        <Card
          title="Connect a client"
          lead={`The example names a variable: put one of your ${kind.noun}s in it`}
          className="mt-6"
        >
          <Snippets kind={kind.clients} />
        </Card>
      )}
      <CreateSecret
        kind={kind}
        open={creating}
        onClose={() => setCreating(false)}
        change={create}
        toFinalFocus={() => opener.current}
      />
    </>
  );
}
