/** What is said after sessions were ended. */
export function toEndedText(revoked: number): string {
  return revoked === 1 ? "1 session ended" : `${revoked} sessions ended`;
}
