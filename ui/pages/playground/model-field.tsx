import { Combobox } from "@base-ui/react/combobox";
import { type ReactNode, useState } from "react";
import type { ListedModel, ModelPricing } from "../../api/models.ts";
import type { ChatEndpoint } from "../../api/chat.ts";
import { toCapabilityLabel } from "../../components/capability.tsx";
import { Badge } from "../../components/chip.tsx";
import { classNames } from "../../components/class-names.ts";
import { CONTROL_CLASS, FieldFrame, TEXT_CLASS, useFieldIds } from "../../components/field-frame.tsx";
import { Icon } from "../../components/icon.tsx";
import { OPTION_CLASS, POPUP_CLASS } from "../../components/popup.ts";

/** More would not be read, and would be slow to draw. */
const OPTIONS_SHOWN_MAX = 100;

export interface ModelFieldProps {
  readonly choices: readonly ModelChoice[];
  readonly value: ModelChoice | null;
  readonly onValueChange: (choice: ModelChoice) => void;
  readonly busy: boolean;
  readonly hint: ReactNode;
  readonly error: string | null;
}

/** The alias to ask. All are listed; one that cannot chat says why, and cannot be chosen. */
export function ModelField({ choices, value, onValueChange, busy, hint, error }: ModelFieldProps) {
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
      <FieldFrame label="Model" ids={ids} hint={hint} error={error}>
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
  /** Whether chat can stream; responses always can. */
  readonly canStream: boolean;
  readonly pricing: ModelPricing;
}

const ENDPOINTS: readonly ChatEndpoint[] = ["chat", "responses"];

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
