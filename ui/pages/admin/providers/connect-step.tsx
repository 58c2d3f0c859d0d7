import { useMutation } from "@tanstack/react-query";
import { type SubmitEvent, useState } from "react";
import { NAME_LENGTH_MAX } from "#kernel/text.ts";
import { createProvider, type ProviderDetails } from "../../../api/catalog.ts";
import { Button } from "../../../components/button.tsx";
import { ErrorNotice } from "../../../components/error-notice.tsx";
import { focusInvalid, toFieldError } from "../../../components/field-frame.tsx";
import { TextField } from "../../../components/text-field.tsx";
import { ConnectionFields } from "./connection-fields.tsx";
import { type Preset, PRESETS, toFreeName } from "./presets.ts";
import { NEW_PROVIDER, type ProviderForm, toProviderDraft } from "./provider-form.ts";
import { StepFooter } from "./step-footer.tsx";

export interface ConnectStepProps {
  /** Names that other providers have. */
  readonly takenNames: readonly string[];
  readonly onCreated: (provider: ProviderDetails) => void;
  readonly onCancel: () => void;
}

/** The first step: which provider, where it is, and its key. */
export function ConnectStep({ takenNames, onCreated, onCancel }: ConnectStepProps) {
  const [preset, setPreset] = useState<Preset>(PRESETS[0]);
  const [form, setForm] = useState<ProviderForm>(() => toPresetForm(PRESETS[0], NEW_PROVIDER, takenNames));
  const create = useMutation({ ...createProvider, onSuccess: onCreated });
  const change = (part: Partial<ProviderForm>) => {
    create.reset();
    setForm((before) => ({ ...before, ...part }));
  };
  const submit = (event: SubmitEvent<HTMLFormElement>) => {
    event.preventDefault();
    if (create.isPending || focusInvalid(event.currentTarget)) return;
    create.mutate(toProviderDraft(form));
  };
  return (
    <form onSubmit={submit} className="flex flex-col gap-4">
      <PresetPicker
        presetId={preset.id}
        onChoose={(chosen) => {
          setPreset(chosen);
          change(toPresetForm(chosen, form, takenNames));
        }}
      />
      <TextField
        label="Name"
        required
        mono
        lengthMax={NAME_LENGTH_MAX}
        hint="Shown in reports and cannot be changed. Lower-case letters, digits, dots, dashes and underscores."
        value={form.name}
        error={toFieldError(create.error, "name")}
        onValueChange={(name) => change({ name })}
      />
      <ConnectionFields form={form} onChange={change} before={null} preset={preset} failure={create.error} />
      {create.error !== null && <ErrorNotice failure={create.error} />}
      <StepFooter>
        <Button onClick={onCancel}>Cancel</Button>
        <Button type="submit" variant="primary" busy={create.isPending}>
          Add and discover models
        </Button>
      </StepFooter>
    </form>
  );
}

/** What another kind of provider changes; what was written of one's own stays. */
function toPresetForm(preset: Preset, form: ProviderForm, takenNames: readonly string[]): ProviderForm {
  const others = PRESETS.filter(({ baseUrl }) => baseUrl !== null);
  const isPresetUrl = form.baseUrl === "" || others.some(({ baseUrl }) => baseUrl === form.baseUrl);
  const isPresetName =
    form.name === "" || others.some((other) => toFreeName(other, takenNames) === form.name);
  return {
    ...form,
    baseUrl: isPresetUrl ? (preset.baseUrl ?? "") : form.baseUrl,
    name: isPresetName ? toFreeName(preset, takenNames) : form.name,
  };
}

interface PresetPickerProps {
  readonly presetId: string;
  readonly onChoose: (preset: Preset) => void;
}

/** The kinds of provider, all in sight. */
function PresetPicker({ presetId, onChoose }: PresetPickerProps) {
  return (
    <div role="group" aria-label="Kind of provider" className="grid grid-cols-2 gap-2 sm:grid-cols-4">
      {PRESETS.map((preset) => (
        <button
          key={preset.id}
          type="button"
          aria-pressed={preset.id === presetId}
          onClick={() => onChoose(preset)}
          className="flex min-w-0 flex-col rounded-control border border-line-strong/60 bg-surface px-3 py-2 text-left hover:bg-hover aria-pressed:border-accent aria-pressed:bg-accent-soft"
        >
          <span className="font-medium text-ink">{preset.label}</span>
          <span className="text-xs text-ink-soft">{KEY_WORDS[preset.key]}</span>
        </button>
      ))}
    </div>
  );
}

const KEY_WORDS = {
  needed: "needs a key",
  optional: "key optional",
  none: "no key",
} as const satisfies Record<Preset["key"], string>;
