/**
 * Puts text on the clipboard; resolves to whether it is there. The clipboard interface exists on https and on the own
 * machine only, so on `http://vm:4000` a text area that nobody sees and the old copy command take its place.
 * Call it from a press or a key: browsers allow it at no other time.
 */
export async function copyText(text: string): Promise<boolean> {
  if (await writeClipboard(text)) return true;
  return copyBySelection(text);
}

async function writeClipboard(text: string): Promise<boolean> {
  // Typed as always there, absent on an insecure origin.
  if (!window.isSecureContext || !("clipboard" in navigator)) return false;
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}

function copyBySelection(text: string): boolean {
  const focused = document.activeElement;
  const area = document.createElement("textarea");
  area.value = text;
  area.readOnly = true;
  area.tabIndex = -1;
  area.setAttribute("aria-hidden", "true");
  area.className = "fixed top-0 left-0 size-px opacity-0";
  // Inside the open dialog: its focus trap takes the focus back from anything outside, and nothing would be selected.
  (focused?.closest('[role="dialog"], [role="alertdialog"]') ?? document.body).append(area);
  area.focus({ preventScroll: true });
  area.setSelectionRange(0, text.length);
  try {
    return document.execCommand("copy");
  } catch {
    return false;
  } finally {
    area.remove();
    if (focused instanceof HTMLElement) focused.focus({ preventScroll: true });
  }
}
