/** Ends every running transition at once, so that a style reads as it will stay. */
export function finishTransitions(): void {
  for (const animation of document.getAnimations()) {
    if (animation instanceof CSSTransition) animation.finish();
  }
}

/** Waits for animations that have an end; a spinner has none. */
export async function stillness(): Promise<void> {
  // By looking again: that of an element which is gone meanwhile neither finishes nor fails.
  while (document.getAnimations().some(isEnding)) await frame();
}

function isEnding({ effect, playState }: Animation): boolean {
  return playState === "running" && Number.isFinite(Number(effect?.getComputedTiming().endTime));
}

/** Two frames and a task later, what was queued has been delivered. A hidden page draws no frames, so a task must do. */
export async function settle(): Promise<void> {
  await frame();
  await frame();
  await new Promise((resolve) => setTimeout(resolve, 0));
}

function frame(): Promise<unknown> {
  return new Promise((resolve) => {
    if (document.visibilityState === "hidden") setTimeout(resolve, 0);
    else requestAnimationFrame(resolve);
  });
}
