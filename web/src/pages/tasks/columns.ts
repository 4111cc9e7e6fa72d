/** Which columns of the list are shown; the address has them if they are not the usual ones. */

export const OPTIONAL: readonly string[] = [
  "queue", "tenant", "class", "due", "submitted", "started", "finished", "tags", "key",
];
export const USUAL: readonly string[] = ["queue", "tenant", "class", "due"];

/** The columns that an address names, or the usual ones. */
export function columnsOf(text: string | undefined): readonly string[] {
  if (text === undefined) return USUAL;
  return text.split(",").filter((name) => OPTIONAL.includes(name));
}

/** What the address says of these columns: nothing if they are the usual ones. */
export function columnsIn(chosen: readonly string[]): string | undefined {
  const ordered = OPTIONAL.filter((name) => chosen.includes(name));
  return ordered.join() === USUAL.join() ? undefined : ordered.join();
}
