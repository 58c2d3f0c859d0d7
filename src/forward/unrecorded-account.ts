import type { LateAccount } from "./account.ts";

/** An account of a request that leaves no event. */
export function createUnrecordedAccount(): LateAccount {
  let settled = false;
  const held: Disposable[] = [];
  return {
    begin: () => undefined,
    abandon: () => undefined,
    answered: () => undefined,
    firstByte: () => undefined,
    background: () => Promise.resolve(),
    own: (one) => void held.push(one),
    settle() {
      if (!settled) for (const one of held) one[Symbol.dispose]();
      settled = true;
      return Promise.resolve();
    },
  };
}
