/** What an installation needs before it is of use, in the order in which it is done. */
export const SETUP_STEPS = ["provider", "model", "key", "request"] as const;
export type SetupStep = (typeof SETUP_STEPS)[number];

export type SetupDone = { readonly [step in SetupStep]: boolean };

/** How many there are of each, as far as the one who looks may know. */
export interface SetupCounts {
  /** Null for a member, who may not list them. */
  readonly providers: number | null;
  /** For a member those that can be called. */
  readonly models: number;
  /** Counts all principals for an administrator, else the caller's own. */
  readonly keys: number;
  /** Counts all principals since the installation began. */
  readonly requests: number;
}

/** What is done already, from what there is. A model that can be called has a provider. */
export function toSetupDone({ providers, models, keys, requests }: SetupCounts): SetupDone {
  const isMember = providers === null;
  return {
    provider: isMember ? models > 0 || requests > 0 : providers > 0,
    model: isMember ? models > 0 || requests > 0 : models > 0,
    // A member who has none yet joins an installation that others use: it is set up.
    key: keys > 0 || (isMember && requests > 0),
    request: requests > 0,
  };
}

export function isSetUp(done: SetupDone): boolean {
  return SETUP_STEPS.every((step) => done[step]);
}

/** The step to do now: the first that is not done. */
export function toNextStep(done: SetupDone): SetupStep | null {
  return SETUP_STEPS.find((step) => !done[step]) ?? null;
}
