/** Rows that stay where they are on the screen while the server's list goes on. Pure. */

export interface Kept<T> {
  /** What is shown: the rows of before in their order, each as it is now. */
  readonly rows: readonly T[];
  /** The ids of rows that are not in the list any longer. */
  readonly left: ReadonlySet<string>;
  /** How many of the list are not shown. */
  readonly fresh: number;
}

/** The rows `shown`, as they are in `now`; nothing moves, and what is new is only counted. */
export function keep<T>(shown: readonly T[], now: readonly T[], id: (row: T) => string): Kept<T> {
  const known = new Map(now.map((row) => [id(row), row]));
  const there = new Set(shown.map(id));
  return {
    rows: shown.map((row) => known.get(id(row)) ?? row),
    left: new Set(shown.map(id).filter((one) => !known.has(one))),
    fresh: now.filter((row) => !there.has(id(row))).length,
  };
}
