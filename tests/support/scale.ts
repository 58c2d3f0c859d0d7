export function readNumber(name: string): number | undefined {
  const text = process.env[name] ?? "";
  return text === "" ? undefined : Number(text);
}

/** `LOCKPORT_SCALE` makes what is tried at random so many times as long; `.ci/run` sets it. */
export const scale = readNumber("LOCKPORT_SCALE") ?? 1;
