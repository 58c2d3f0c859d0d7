import { useState } from "react";

/** What was complete last, while the next is not: a picture never mixes two questions, and never goes away between them. */
export function useLatest<Value>(complete: Value | null): Value | null {
  const [latest, setLatest] = useState(complete);
  if (complete !== null && complete !== latest) setLatest(complete);
  return complete ?? latest;
}
