import type { Snippet } from "svelte";

/** A column of a table: its title, and what it shows of a row. */
export interface Column<T> {
  readonly id: string;
  readonly title: string;
  readonly number?: boolean;
  readonly width?: string;
  readonly cell: Snippet<[T]>;
}
