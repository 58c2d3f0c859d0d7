import { useQuery } from "@tanstack/react-query";
import { createMyKey, deleteMyKey, myKeysQuery, rotateMyKey, updateMyKey } from "../api/my.ts";
import { OwnSecrets } from "../secrets/own-secrets.tsx";
import { KEY } from "../secrets/secret-row.ts";

/** The API keys of the signed-in person. */
export function KeysPage() {
  return (
    <OwnSecrets
      kind={KEY}
      title="My keys"
      caption="My keys"
      lead="A key lets a program call the models. It is shown once, when you create it; only its hash is kept."
      emptyText="Create one for each program that calls models, so that each can be revoked by itself."
      answer={useQuery(myKeysQuery())}
      create={createMyKey}
      remove={deleteMyKey}
      update={updateMyKey}
      rotate={rotateMyKey}
    />
  );
}
