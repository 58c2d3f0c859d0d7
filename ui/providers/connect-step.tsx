import { AUTH_STYLE_DEFAULT, PROVIDER_SETTINGS } from "#catalog/provider-fields.ts";
import { mutationOptions } from "@tanstack/react-query";
import { type ReactNode, useRef, useState } from "react";
import {
  type DiscoveredModels,
  type ProviderDetails,
  type ProviderDraft,
  PROVIDERS,
  testProvider,
} from "../api/catalog.ts";
import { Button } from "../components/button.tsx";
import { classNames } from "../components/class-names.ts";
import { TextField } from "../components/text-field.tsx";
import { Form, SubmitButton } from "../form/form.tsx";
import { readTerms } from "../form/read-terms.ts" with { type: "macro" };
import { REQUIRED } from "../form/terms.ts";
import { useForm } from "../form/use-form.ts";
import { ConnectionFields } from "./connection-fields.tsx";
import { DiscoveryHelp, FoundModels, StepFooter } from "./discovery-help.tsx";
import { type Asked, isDiscoveryFailure } from "./discovery.ts";
import { type Preset, PRESETS, toFreeName } from "./presets.ts";
import { NEW_PROVIDER, type ProviderForm, toProviderDraft } from "./provider-form.ts";

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
  const [tested, setTested] = useState<{ readonly draft: string; readonly found: DiscoveredModels } | null>(
    null,
  );
  const isUntested = useRef(false);
  const [begin] = useState(() => toPresetForm(PRESETS[0], NEW_PROVIDER, takenNames));
  /** What was found out of exactly what stands in the fields; null when anything was changed since. */
  const toFound = (values: ProviderForm) =>
    tested?.draft === JSON.stringify(toProviderDraft(values)) ? tested.found : null;
  const form = useForm({
    name: "connect-provider",
    begin,
    terms: readTerms("ProviderCreateRequest"),
    check: ({ baseUrl, apiKey }) => ({
      base_url: baseUrl.trim() === "" ? REQUIRED : undefined,
      api_key: preset.key === "needed" && apiKey === "" ? REQUIRED : undefined,
    }),
    change: testOrSave,
    toAsked: (values) => {
      const saves = isUntested.current || toFound(values) !== null;
      isUntested.current = false;
      return { draft: toProviderDraft(values), saves };
    },
    onSaved: (answer, { draft }) => {
      if (answer.kind === "saved") return onCreated(answer.provider, toFound(form.values));
      setTested({ draft: JSON.stringify(draft), found: answer.found });
      // Nothing is stored yet: what was typed is as much to be kept as before.
      form.set({});
    },
  });
  const { failure } = form;
  const found = toFound(form.values);
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
        <div role="status" className="empty:hidden">
          {found !== null && (
            <div
              className={classNames(
                "rounded-control px-3 py-2",
                found.models.length === 0 ? "bg-warn-soft" : "bg-good-soft",
              )}
            >
              <FoundModels found={found}> Nothing is saved yet.</FoundModels>
            </div>
          )}
        </div>
      </Form>
      {isUnanswered && <DiscoveryHelp failure={failure} provider={toAsked(form.values)} hasNotice />}
      <StepFooter>
        {cancel}
        {isUnanswered && (
          <Button
            type="submit"
            form={form.id}
            busy={form.isPending}
            onClick={() => (isUntested.current = true)}
          >
            Save without a test
          </Button>
        )}
        <SubmitButton form={form} underWay={found === null ? "Testing…" : "Saving…"}>
          {found === null ? "Test connection" : "Save and choose models"}
        </SubmitButton>
      </StepFooter>
    </div>
  );
}

interface Step {
  readonly draft: ProviderDraft;
  readonly saves: boolean;
}

/** A test changes nothing, so that nothing is asked for again after it. */
const testOrSave = mutationOptions({
  mutationFn: async ({ draft, saves }: Step) =>
    saves
      ? ({ kind: "saved", provider: await PROVIDERS.create.run(draft) } as const)
      : ({ kind: "tested", found: await testProvider(draft) } as const),
  onSettled: async (_answer, _failure, { saves }, _begun, { client }) => {
    if (saves) await PROVIDERS.create.refresh(client);
  },
});

/** What was typed, as the help for a stored provider has it. */
function toAsked(form: ProviderForm): Asked {
  return {
    base_url: form.baseUrl.trim().replace(/\/+$/u, ""),
    verify_tls: form.verifyTls,
    timeout_connect: form.timeoutConnectSeconds ?? PROVIDER_SETTINGS.timeoutConnectSeconds.initial,
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
