import { PRESETS, type Preset } from "./presets.ts";

export interface PresetPickerProps {
  readonly presetId: string;
  readonly onChoose: (preset: Preset) => void;
}

/** The kinds of provider, all in sight. */
export function PresetPicker({ presetId, onChoose }: PresetPickerProps) {
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
