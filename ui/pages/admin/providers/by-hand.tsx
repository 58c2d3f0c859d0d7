import { useState, type SubmitEvent } from "react";
import { UPSTREAM_NAME_LENGTH_MAX } from "#kernel/text.ts";
import { Button } from "../../../components/button.tsx";
import { TextField } from "../../../components/text-field.tsx";

export interface ByHandProps {
  readonly onAdd: (upstreamName: string) => void;
  readonly disabled: boolean;
}

/** A model that the provider does not list, by the name that it goes by there. */
export function ByHand({ onAdd, disabled }: ByHandProps) {
  const [upstreamName, setUpstreamName] = useState("");
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    if (upstreamName.trim() === "" || disabled) return;
    onAdd(upstreamName.trim());
    setUpstreamName("");
  };
  return (
    <form onSubmit={submit} className="flex flex-wrap items-end gap-2">
      <TextField
        label="Add a model that is not listed"
        placeholder="Upstream name"
        mono
        className="min-w-48 flex-1"
        lengthMax={UPSTREAM_NAME_LENGTH_MAX}
        value={upstreamName}
        disabled={disabled}
        onValueChange={setUpstreamName}
      />
      <Button type="submit" icon="plus" disabled={disabled || upstreamName.trim() === ""}>
        Add to the list
      </Button>
    </form>
  );
}
