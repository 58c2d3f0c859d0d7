import type { ListedModel } from "../../api/models.ts";
import { Dialog } from "../../components/dialog.tsx";
import { Snippets } from "../../snippets/snippets.tsx";

export interface SnippetDialogProps {
  readonly model: ListedModel;
  readonly onClose: () => void;
}

/** How each client calls one model. */
export function SnippetDialog({ model, onClose }: SnippetDialogProps) {
  return (
    <Dialog
      open
      onOpenChange={(open) => !open && onClose()}
      title={`How to call ${model.id}`}
      description="With one of your own keys in LOCKPORT_KEY."
      size="lg"
    >
      <Snippets kind="openai" model={model.id} capabilities={model.capabilities} />
    </Dialog>
  );
}
