/** Which columns of the list are shown: those that suit the state, unless the address names others. */

export const OPTIONAL: readonly string[] = [
  "queue", "tenant", "class", "due", "waited", "submitted", "started", "ran", "finished", "worker", "tags", "key",
];
const USUAL: Readonly<Record<string, readonly string[]>> = {
  open: ["queue", "tenant", "class", "due", "waited"],
  scheduled: ["queue", "tenant", "class", "due", "submitted"],
  ready: ["queue", "tenant", "class", "due", "waited"],
  running: ["queue", "tenant", "started", "ran", "worker"],
  completed: ["queue", "tenant", "waited", "ran", "finished"],
  cancelled: ["queue", "tenant", "submitted", "finished"],
  failed: ["queue", "tenant", "ran", "finished"],
  all: ["queue", "tenant", "class", "submitted", "finished"],
};

/** What is shown of a state if nobody chose. */
export function usual(state: string): readonly string[] {
  return USUAL[state] ?? USUAL.open ?? [];
}

/** The columns that an address names, or the usual ones of the state. */
export function columnsOf(text: string | undefined, state: string): readonly string[] {
  if (text === undefined) return usual(state);
  return text.split(",").filter((name) => OPTIONAL.includes(name));
}

/** What the address says of these columns: nothing if they are the usual ones. */
export function columnsIn(chosen: readonly string[], state: string): string | undefined {
  const ordered = OPTIONAL.filter((name) => chosen.includes(name));
  return ordered.join() === usual(state).join() ? undefined : ordered.join();
}
