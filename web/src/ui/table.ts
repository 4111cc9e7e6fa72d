import type { Snippet } from "svelte";

/** A column of a table: its title, and what it shows of a row. */
export interface Column<T> {
  readonly id: string;
  readonly title: string;
  readonly number?: boolean;
  readonly width?: string;
  /** Where a row is two lines: `lead` stands on the first one, without its title; `not` is left out. */
  readonly narrow?: "lead" | "not" | undefined;
  readonly cell: Snippet<[T]>;
}
