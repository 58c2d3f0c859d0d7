import { AUTH_STYLE_DEFAULT } from "#catalog/provider-fields.ts";
import { type ReactNode, useRef, useState } from "react";
import type { DiscoveredModels, ProviderDetails } from "../api/catalog.ts";
import { TextField } from "../components/text-field.tsx";
import { Form, SubmitButton } from "../form/form.tsx";
import { readTerms } from "../form/read-terms.ts" with { type: "macro" };
import { REQUIRED } from "../form/terms.ts";
import { useForm } from "../form/use-form.ts";
import { ConnectionFields } from "./connection-fields.tsx";
import { DiscoveryHelp, SaveAnyway, StepFooter } from "./discovery-help.tsx";
import { createTested, isDiscoveryFailure } from "./discovery.ts";
import { type Preset, PRESETS, toFreeName } from "./presets.ts";
import { NEW_PROVIDER, type ProviderForm, toAsked, toProviderDraft } from "./provider-form.ts";

export interface ConnectStepProps {
  /** Names that other providers have. */
  readonly takenNames: readonly string[];
  /** `found` is what the test listed; null when it was saved without one. */
  readonly onCreated: (provider: ProviderDetails, found: DiscoveredModels | null) => void;
  /** Stands before the other buttons. */
  readonly cancel?: ReactNode;
}

/** The first step: which provider, where it is, and its key; tested before anything is stored. */
export function ConnectStep({ takenNames, onCreated, cancel }: ConnectStepProps) {
  const [preset, setPreset] = useState<Preset>(PRESETS[0]);
  const skipsTest = useRef(false);
  const [begin] = useState(() => toPresetForm(PRESETS[0], NEW_PROVIDER, takenNames));
  const form = useForm({
    name: "connect-provider",
    begin,
    terms: readTerms("ProviderCreateRequest"),
    check: ({ baseUrl, apiKey }) => ({
      base_url: baseUrl.trim() === "" ? REQUIRED : undefined,
      api_key: preset.key === "needed" && apiKey === "" ? REQUIRED : undefined,
    }),
    change: createTested,
    toAsked: (values) => {
      const asked = { draft: toProviderDraft(values), skipsTest: skipsTest.current };
      skipsTest.current = false;
      return asked;
    },
    onSaved: ({ provider, found }) => onCreated(provider, found),
  });
  const { failure } = form;
  const isUnanswered = failure !== null && isDiscoveryFailure(failure);
  return (
    <div className="flex flex-col gap-4">
      <Form form={form}>
        <PresetPicker
          presetId={preset.id}
          onChoose={(chosen) => {
            setPreset(chosen);
            form.set(toPresetForm(chosen, form.values, takenNames));
          }}
        />
        <TextField
          label="Name"
          {...form.field("name")}
          mono
          hint="Shown in reports and cannot be changed. Lower-case letters, digits, dots, dashes and underscores."
        />
        <ConnectionFields form={form} before={null} preset={preset} />
      </Form>
      {isUnanswered && <DiscoveryHelp failure={failure} provider={toAsked(form.values, null)} hasNotice />}
      <StepFooter>
        {cancel}
        {isUnanswered && <SaveAnyway form={form} onPress={() => (skipsTest.current = true)} />}
        <SubmitButton form={form} underWay="Testing…">
          Test and save
        </SubmitButton>
      </StepFooter>
    </div>
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
    authStyle: preset.authStyle ?? AUTH_STYLE_DEFAULT,
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
