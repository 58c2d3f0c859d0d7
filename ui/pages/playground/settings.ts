/** How a model is asked, beside the question. */
export interface Settings {
  readonly system: string;
  /** Null leaves it to the provider. */
  readonly temperature: number | null;
  readonly maxTokens: number | null;
  readonly stream: boolean;
}

export const SETTINGS_DEFAULT: Settings = { system: "", temperature: null, maxTokens: null, stream: true };

/** The fields of the body; what is not set is not sent. */
export function toSentSettings({ temperature, maxTokens }: Settings): { readonly [name: string]: number } {
  return {
    ...(temperature !== null && { temperature }),
    ...(maxTokens !== null && { max_tokens: maxTokens }),
  };
}
