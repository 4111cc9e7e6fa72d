/** A tab: what it is called, where it leads, and how many things are behind it. */
export interface Tab {
  readonly id: string;
  readonly text: string;
  readonly address: string;
  readonly number?: number | undefined;
  readonly capped?: boolean | undefined;
  readonly warn?: boolean | undefined;
}
