import { useQueryClient } from "@tanstack/react-query";
import { useToast } from "../components/toast.tsx";
import type { ToastMessage } from "../components/toast-messages.ts";
import type { Change } from "./changing.ts";

/** The button of a message that takes a change back by the opposite one, and says whether it could. */
export function useUndo() {
  const client = useQueryClient();
  const { notify } = useToast();
  return <Asked, Answered>(
    { run, refresh }: Change<Asked, Answered>,
    asked: Asked,
    done: string,
  ): NonNullable<ToastMessage["action"]> => {
    const undo = async () => {
      try {
        await run(asked);
        notify({ title: done, tone: "good" });
      } catch (failure) {
        if (!(failure instanceof Error)) throw failure;
        notify({ title: "It could not be undone", body: failure.message, tone: "bad" });
      }
      await refresh(client);
    };
    return { label: "Undo", onSelect: () => void undo() };
  };
}
