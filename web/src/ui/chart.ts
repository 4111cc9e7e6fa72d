/** One line of a chart; null where nothing is known. */
export interface Line {
  readonly name: string;
  readonly values: readonly (number | null)[];
}
