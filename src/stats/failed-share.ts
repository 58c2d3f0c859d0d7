interface Outcomes {
  readonly requests: number;
  readonly cancelled: number;
  readonly failed: number;
}

/** The share that failed of the requests that were not cancelled, wherever it is shown; null when all were, or there are none. */
export function toFailedShare({ requests, cancelled, failed }: Outcomes): number | null {
  const ended = requests - cancelled;
  return ended === 0 ? null : failed / ended;
}
