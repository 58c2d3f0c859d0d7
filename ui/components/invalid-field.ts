/** Whether a field within holds what cannot be sent; the first such gets the focus. */
export function focusInvalid(fields: HTMLElement): boolean {
  const field = fields.querySelector("[aria-invalid=true]");
  if (!(field instanceof HTMLElement)) return false;
  field.focus();
  return true;
}
