import { Combobox } from "@base-ui/react/combobox";
import {
  type KeyboardEvent,
  type ReactNode,
  type Ref,
  type RefObject,
  type SubmitEvent,
  useEffect,
  useState,
} from "react";
import { isJsonObject, parseJson } from "#kernel/json.ts";
import type { ChatEndpoint } from "../../api/chat.ts";
import type { ListedModel, ModelPricing } from "../../api/models.ts";
import { Button } from "../../components/button.tsx";
import { toCapabilityLabel } from "../../components/capability.tsx";
import { Card } from "../../components/card.tsx";
import { Badge } from "../../components/chip.tsx";
import { SwitchField } from "../../components/choice-field.tsx";
import { classNames } from "../../components/class-names.ts";
import { Kbd } from "../../components/code.tsx";
import { CONTROL_CLASS, FieldFrame, TEXT_CLASS, useFieldIds } from "../../components/field-frame.tsx";
import { Icon } from "../../components/icon.tsx";
import { NumberField } from "../../components/number-field.tsx";
import { OPTION_CLASS, POPUP_CLASS } from "../../components/popup.ts";
import { SelectField } from "../../components/select-field.tsx";
import { TextField } from "../../components/text-field.tsx";

interface SettingsCardProps {
  /** The model's field. */
  readonly model: ReactNode;
  readonly canStream: boolean;
  /** By which the model can be asked. */
  readonly endpoints: readonly ChatEndpoint[];
  /** The one that is asked now. */
  readonly endpoint: ChatEndpoint;
  readonly settings: Settings;
  readonly onChange: (settings: Settings) => void;
  readonly areaRef: Ref<HTMLDivElement>;
}

/** Which model, and how it is asked. */
export function SettingsCard({
  model,
  canStream,
  endpoints,
  endpoint,
  settings,
  onChange,
  areaRef,
}: SettingsCardProps) {
  return (
    <Card>
      <div ref={areaRef} className="grid min-w-0 items-start gap-4 sm:grid-cols-2 lg:grid-cols-1">
        {model}
        {endpoints.length > 1 && (
          <SelectField
            label="Endpoint"
            options={endpoints.map((value) => ({ value, ...ENDPOINT_WORDS[value] }))}
            value={endpoint}
            onValueChange={(next) => onChange({ ...settings, endpoint: next })}
          />
        )}
        <TextField
          label="System message"
          hint="Sent before the conversation. Empty: not sent."
          multiline
          rows={3}
          value={settings.system}
          onValueChange={(system) => onChange({ ...settings, system })}
        />
        <div className="grid grid-cols-2 gap-3">
          <NumberField
            label="Temperature"
            placeholder="not sent"
            min={0}
            max={2}
            value={settings.temperature}
            onValueChange={(temperature) => onChange({ ...settings, temperature })}
          />
          <NumberField
            label="Max tokens"
            placeholder="not sent"
            integer
            min={1}
            value={settings.maxTokens}
            onValueChange={(maxTokens) => onChange({ ...settings, maxTokens })}
          />
        </div>
        <SwitchField
          label="Stream the answer"
          hint={canStream ? undefined : "This model does not support streaming."}
          disabled={!canStream}
          checked={settings.stream && canStream}
          onCheckedChange={(stream) => onChange({ ...settings, stream })}
        />
      </div>
    </Card>
  );
}

const ENDPOINT_WORDS = {
  chat: { label: "Chat completions", detail: "/v1/chat/completions" },
  responses: { label: "Responses", detail: "/v1/responses" },
  messages: { label: "Messages", detail: "/v1/messages" },
} as const satisfies Record<ChatEndpoint, object>;

/** How a model is asked, beside the question. */
export interface Settings {
  /** Taken where the model has it. */
  readonly endpoint: ChatEndpoint;
  readonly system: string;
  /** Null leaves it to the provider. */
  readonly temperature: number | null;
  readonly maxTokens: number | null;
  readonly stream: boolean;
}

const SETTINGS_DEFAULT: Settings = {
  endpoint: "chat",
  system: "",
  temperature: null,
  maxTokens: null,
  stream: true,
};

/** The fields of the body; what is not set is not sent. */
export function toSentSettings({ temperature, maxTokens }: Settings): { readonly [name: string]: number } {
  return {
    ...(temperature !== null && { temperature }),
    ...(maxTokens !== null && { max_tokens: maxTokens }),
  };
}

/** More would not be read, and would be slow to draw. */
const OPTIONS_SHOWN_MAX = 100;

interface ModelFieldProps {
  readonly label: string;
  readonly choices: readonly ModelChoice[];
  readonly value: ModelChoice | null;
  readonly onValueChange: (choice: ModelChoice) => void;
  readonly busy: boolean;
  readonly hint: ReactNode;
  readonly error: string | null;
}

/** The alias to ask. All are listed; one that cannot chat says why, and cannot be chosen. */
export function ModelField({ label, choices, value, onValueChange, busy, hint, error }: ModelFieldProps) {
  const ids = useFieldIds({ hint, error });
  // Typed before the list came: the model that is chosen for want of another would take its place.
  const [isTypedEarly, setTypedEarly] = useState(false);
  return (
    <Combobox.Root<ModelChoice>
      items={choices}
      value={isTypedEarly ? null : value}
      onValueChange={(choice) => {
        if (choice === null) return;
        setTypedEarly(false);
        onValueChange(choice);
      }}
      onInputValueChange={(text, { reason }) => {
        if (busy && reason === "input-change") setTypedEarly(text !== "");
      }}
      itemToStringLabel={({ alias }) => alias}
      isItemEqualToValue={(item, other) => item.alias === other.alias}
      limit={OPTIONS_SHOWN_MAX}
    >
      <FieldFrame label={label} ids={ids} hint={hint} error={error}>
        <div className="relative">
          <Combobox.Input
            id={ids.control}
            placeholder={busy ? "Loading…" : "Choose a model"}
            spellCheck={false}
            autoComplete="off"
            data-filter
            aria-invalid={error !== null || undefined}
            aria-describedby={ids.describedBy}
            aria-busy={busy || undefined}
            onFocus={(event) => event.currentTarget.select()}
            onBlur={() => setTypedEarly(false)}
            className={classNames(CONTROL_CLASS, TEXT_CLASS.plain, "h-8 truncate pr-8")}
          />
          <Combobox.Trigger
            aria-label="Show the models"
            tabIndex={-1}
            className="absolute inset-y-0 right-0 flex w-8 items-center justify-center text-ink-faint"
          >
            <Icon name="chevron-down" />
          </Combobox.Trigger>
        </div>
      </FieldFrame>
      <Combobox.Portal>
        <Combobox.Positioner className="z-50" sideOffset={4} collisionPadding={8}>
          <Combobox.Popup className={classNames(POPUP_CLASS, "w-80")}>
            <Combobox.Empty className="px-3 py-2 text-xs text-ink-faint empty:hidden">
              No model has this name
            </Combobox.Empty>
            <Combobox.List className="max-h-[min(20rem,var(--available-height))] overflow-y-auto p-1 data-empty:p-0">
              {(choice: ModelChoice) => (
                <Combobox.Item
                  key={choice.alias}
                  value={choice}
                  disabled={choice.obstacle !== null}
                  className={classNames(OPTION_CLASS, "items-start")}
                >
                  <span className="min-w-0 flex-1">
                    <span className="flex items-center gap-1.5">
                      <span className="truncate" title={choice.alias}>
                        {choice.alias}
                      </span>
                      {choice.hidden && <Badge>hidden</Badge>}
                    </span>
                    <span className="block text-xs text-ink-faint">{choice.obstacle ?? choice.provider}</span>
                  </span>
                  <Combobox.ItemIndicator className="mt-0.5 text-accent">
                    <Icon name="check" />
                  </Combobox.ItemIndicator>
                </Combobox.Item>
              )}
            </Combobox.List>
          </Combobox.Popup>
        </Combobox.Positioner>
      </Combobox.Portal>
    </Combobox.Root>
  );
}

/** A model as the playground lists it. */
export interface ModelChoice {
  readonly alias: string;
  readonly provider: string;
  readonly hidden: boolean;
  /** Why it cannot be asked here; null when it can. */
  readonly obstacle: string | null;
  /** By which it can be asked; the first is taken unless another is chosen. */
  readonly endpoints: readonly ChatEndpoint[];
  /** Whether chat can stream; the others always can. */
  readonly canStream: boolean;
  readonly pricing: ModelPricing;
}

const ENDPOINTS: readonly ChatEndpoint[] = ["chat", "responses", "messages"];

/** Those that can be asked first, then the others with the reason; each part in the order of the list. */
export function toModelChoices(models: readonly ListedModel[]): readonly ModelChoice[] {
  const choices = models.map((model) => ({
    alias: model.id,
    provider: model.owned_by,
    hidden: model.hidden,
    obstacle: findObstacle(model),
    endpoints: ENDPOINTS.filter((endpoint) => model.capabilities.includes(endpoint)),
    canStream: model.capabilities.includes("chat_stream"),
    pricing: model.pricing ?? {},
  }));
  return [
    ...choices.filter(({ obstacle }) => obstacle === null),
    ...choices.filter(({ obstacle }) => obstacle !== null),
  ];
}

function findObstacle({ capabilities }: ListedModel): string | null {
  if (ENDPOINTS.some((endpoint) => capabilities.includes(endpoint))) return null;
  const others = capabilities.map((capability) => toCapabilityLabel(capability).toLowerCase());
  return others.length === 0 ? "no capability declared" : `${others.join(", ")} only: it cannot chat`;
}

interface ComposerProps {
  readonly text: string;
  readonly onTextChange: (text: string) => void;
  readonly running: boolean;
  readonly onSend: () => void;
  readonly onStop: () => void;
  readonly areaRef: RefObject<HTMLTextAreaElement | null>;
}

/** Where one writes. Ctrl or Cmd with Enter sends, Esc stops what is coming. */
export function Composer({ text, onTextChange, running, onSend, onStop, areaRef: area }: ComposerProps) {
  useEffect(() => {
    // The stop button had it, and is gone.
    if (!running && document.activeElement === document.body) area.current?.focus({ preventScroll: true });
  }, [running, area]);
  const send = () => {
    if (!running && text.trim() !== "") onSend();
  };
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    send();
    area.current?.focus();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.nativeEvent.isComposing) return;
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      send();
    } else if (event.key === "Escape" && running) {
      event.preventDefault();
      onStop();
    }
  };
  return (
    <form
      onSubmit={submit}
      className="sticky bottom-0 flex min-w-0 flex-col gap-2 border-t border-line bg-bg py-3 first:border-0"
    >
      <TextField
        label="Message"
        labelHidden
        multiline
        rows={4}
        placeholder="Write a message"
        areaRef={area}
        value={text}
        onValueChange={onTextChange}
        onKeyDown={onKeyDown}
      />
      <div className="flex flex-wrap items-center justify-between gap-2">
        <p className="flex flex-wrap items-center gap-1 text-xs text-ink-faint">
          <Kbd>Ctrl</Kbd> or <Kbd>⌘</Kbd> with <Kbd>Enter</Kbd> sends, <Kbd>Esc</Kbd> stops
        </p>
        <div className="ml-auto flex items-center gap-2">
          {running && (
            <Button icon="close" onClick={onStop}>
              Stop
            </Button>
          )}
          <Button type="submit" variant="primary" busy={running}>
            Send
          </Button>
        </div>
      </div>
    </form>
  );
}

/** What is typed in the playground and not sent. */
interface Draft {
  readonly text: string;
  readonly settings: Settings;
  /** The alias that was chosen last; null: none was. */
  readonly model: string | null;
  /** The alias that is compared; null: none is. */
  readonly compared: string | null;
}

const STORAGE_KEY = "lockport.playground";
const EMPTY: Draft = { text: "", settings: SETTINGS_DEFAULT, model: null, compared: null };

/** Keeps the draft in this tab, over other pages and a reload, for the person who wrote it. What was sent is not in it. */
export function useDraft(owner: string): readonly [Draft, (part: Partial<Draft>) => void] {
  const [draft, setDraft] = useState(() => readDraft(owner));
  useEffect(() => writeDraft(owner, draft), [owner, draft]);
  return [draft, (part) => setDraft((before) => ({ ...before, ...part }))];
}

function writeDraft(owner: string, draft: Draft): void {
  try {
    sessionStorage.setItem(STORAGE_KEY, JSON.stringify({ owner, ...draft }));
  } catch {
    // A browser that keeps nothing loses it with the page, as it did before.
  }
}

function readDraft(owner: string): Draft {
  const kept = readKept();
  if (!isJsonObject(kept) || kept["owner"] !== owner) return EMPTY;
  const { text, model, compared, settings } = kept;
  return {
    text: typeof text === "string" ? text : "",
    model: typeof model === "string" ? model : null,
    compared: typeof compared === "string" ? compared : null,
    settings: isJsonObject(settings) ? toSettings(settings) : SETTINGS_DEFAULT,
  };
}

function readKept(): unknown {
  try {
    return parseJson(sessionStorage.getItem(STORAGE_KEY) ?? "");
  } catch {
    return null;
  }
}

function toSettings({
  endpoint,
  system,
  temperature,
  maxTokens,
  stream,
}: {
  readonly [name: string]: unknown;
}): Settings {
  return {
    endpoint: ENDPOINTS.find((known) => known === endpoint) ?? SETTINGS_DEFAULT.endpoint,
    system: typeof system === "string" ? system : SETTINGS_DEFAULT.system,
    temperature: typeof temperature === "number" ? temperature : null,
    maxTokens: typeof maxTokens === "number" ? maxTokens : null,
    stream: stream !== false,
  };
}
