import { createContext, use, useState } from "react";

/** A form that is on the page, as far as what would discard it has to know. */
export interface OpenForm {
  /** The dialogs and panels that it stands in. */
  readonly surfaces: readonly Surface[];
  /** It holds what was typed and not saved. */
  readonly isTouched: () => boolean;
  /** Asks the person; true: discard it. */
  readonly ask: () => Promise<boolean>;
  readonly discard: () => unknown;
}

export interface Surface {
  readonly name: symbol;
}

/** Those on the page, in the order in which they came. */
const forms = new Set<OpenForm>();

/** Returns what takes it off again. */
export function addForm(form: OpenForm): () => void {
  forms.add(form);
  return () => forms.delete(form);
}

/** Whether anything would be lost with `surface`, or with the whole page. */
export function hasUnsaved(surface?: Surface): boolean {
  return findTouched(surface).length > 0;
}

/** Asks, where something would be lost. True: nothing holds back what was to be closed or left, and nothing is held any more. */
export async function mayDiscard(surface?: Surface): Promise<boolean> {
  const touched = findTouched(surface);
  const last = touched.at(-1);
  if (last !== undefined && !(await last.ask())) return false;
  for (const form of touched) form.discard();
  return true;
}

function findTouched(surface: Surface | undefined): readonly OpenForm[] {
  return [...forms].filter(
    (form) => (surface === undefined || form.surfaces.includes(surface)) && form.isTouched(),
  );
}

/** The surfaces around a component, the outermost first. */
export const SurfaceContext = createContext<readonly Surface[]>([]);

export interface GuardedSurface {
  /** For the `SurfaceContext` of what stands in it. */
  readonly surfaces: readonly Surface[];
  readonly onOpenChange: (open: boolean) => void;
}

/** A dialog or a panel that asks before it closes over what was typed in it. */
export function useGuardedSurface(onOpenChange: (open: boolean) => void): GuardedSurface {
  const around = use(SurfaceContext);
  const [own] = useState<Surface>(() => ({ name: Symbol("surface") }));
  const [surfaces] = useState(() => [...around, own]);
  return {
    surfaces,
    onOpenChange: (open) => {
      // At once where nothing is asked: the focus then goes back within the same event.
      if (open || !hasUnsaved(own)) onOpenChange(open);
      else void mayDiscard(own).then((isDiscarded) => isDiscarded && onOpenChange(false));
    },
  };
}
