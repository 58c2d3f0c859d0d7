import { useMutation } from "@tanstack/react-query";
import { type ReactNode, type SubmitEvent, useState } from "react";
import { NAME_LENGTH_MAX } from "#kernel/text.ts";
import { createProvider, type DiscoveredModels, type ProviderDetails, testProvider } from "../api/catalog.ts";
import { Button } from "../components/button.tsx";
import { ErrorNotice } from "../components/error-notice.tsx";
import { focusInvalid, toFieldError } from "../components/field-frame.tsx";
import { Icon } from "../components/icon.tsx";
import { TextField } from "../components/text-field.tsx";
import { formatCount } from "../text/format.ts";
import { ConnectionFields } from "./connection-fields.tsx";
import { DiscoveryHelp } from "./discovery-help.tsx";
import { type Asked, isDiscoveryFailure } from "./discovery.ts";
import { type Preset, PRESETS, toFreeName } from "./presets.ts";
import {
  NEW_PROVIDER,
  type ProviderForm,
  TIMEOUT_CONNECT_SECONDS,
  toProviderDraft,
} from "./provider-form.ts";
import { StepFooter } from "./step-footer.tsx";

export interface ConnectStepProps {
  /** Names that other providers have. */
  readonly takenNames: readonly string[];
  /** `found` is what the test listed; null when it was saved without a successful one. */
  readonly onCreated: (provider: ProviderDetails, found: DiscoveredModels | null) => void;
  /** Stands before the other buttons. */
  readonly cancel?: ReactNode;
}

/** The first step: which provider, where it is, and its key; tested before anything is stored. */
export function ConnectStep({ takenNames, onCreated, cancel }: ConnectStepProps) {
  const [preset, setPreset] = useState<Preset>(PRESETS[0]);
  const [form, setForm] = useState<ProviderForm>(() => toPresetForm(PRESETS[0], NEW_PROVIDER, takenNames));
  const test = useMutation({ mutationFn: testProvider });
  const found = test.data ?? null;
  const create = useMutation({
    ...createProvider,
    onSuccess: (provider) => onCreated(provider, found),
  });
  const failure = create.error ?? test.error;
  const isBusy = test.isPending || create.isPending;
  const change = (part: Partial<ProviderForm>) => {
    // What was found out is about what stood in the fields before.
    test.reset();
    create.reset();
    setForm((before) => ({ ...before, ...part }));
  };
  const save = () => create.mutate(toProviderDraft(form));
  const submit = (event: SubmitEvent<HTMLFormElement>) => {
    event.preventDefault();
    if (isBusy || focusInvalid(event.currentTarget)) return;
    if (found === null) test.mutate(toProviderDraft(form));
    else save();
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
        error={toFieldError(failure, "name")}
        onValueChange={(name) => change({ name })}
      />
      <ConnectionFields form={form} onChange={change} before={null} preset={preset} failure={failure} />
      <div role="status" className="empty:hidden">
        {found !== null && <Found found={found} />}
      </div>
      {failure !== null &&
        (isDiscoveryFailure(failure) ? (
          <DiscoveryHelp failure={failure} provider={toAsked(form)} />
        ) : (
          <ErrorNotice failure={failure} />
        ))}
      <StepFooter>
        {cancel}
        {failure !== null && isDiscoveryFailure(failure) && (
          <Button busy={create.isPending} onClick={save}>
            Save without a test
          </Button>
        )}
        <Button type="submit" variant="primary" busy={isBusy}>
          {found === null ? "Test connection" : "Save and choose models"}
        </Button>
      </StepFooter>
    </form>
  );
}

function Found({ found }: { readonly found: DiscoveredModels }) {
  const count = found.models.length;
  return (
    <p className="flex items-start gap-1.5 rounded-control bg-good-soft px-3 py-2">
      <Icon name="check" className="mt-0.5 text-good" />
      It answers, and lists {formatCount(count)} {count === 1 ? "model" : "models"}. Nothing is saved yet.
    </p>
  );
}

/** What was typed, as the help for a stored provider has it. */
function toAsked(form: ProviderForm): Asked {
  return {
    base_url: form.baseUrl.trim().replace(/\/+$/u, ""),
    verify_tls: form.verifyTls,
    timeout_connect: form.timeoutConnectSeconds ?? TIMEOUT_CONNECT_SECONDS,
    has_credential: form.apiKey !== "",
    has_custom_ca: form.caPem !== null && form.caPem !== "",
  };
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
