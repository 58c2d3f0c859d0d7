import { useState } from "react";

/**
 * Whether what is shown answers an earlier question: `question` names what is asked now, `isWaiting` that its answer is not there.
 * A window that moves along with the clock is asked for anew each minute and stays the same question, so that nothing flickers.
 */
export function useOutdated(question: string, isWaiting: boolean): boolean {
  const [answered, setAnswered] = useState(question);
  if (!isWaiting && answered !== question) setAnswered(question);
  return isWaiting && answered !== question;
}
