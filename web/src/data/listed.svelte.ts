/** A page of a list: what is on the screen stays there, what is new is counted and offered. */

import { keep } from "../lib/keep";
import { Resource } from "./resource.svelte";

export interface Page<T> {
  readonly items: readonly T[];
  readonly next: string | null;
}

export class Listed<T> {
  readonly resource: Resource<Page<T>>;
  readonly #id: (row: T) => string;
  #shown = $state.raw<readonly T[] | undefined>();
  #next = $state.raw<string | null>(null);
  readonly #kept = $derived.by(() => keep(this.#shown ?? [], this.resource.data?.items ?? [], this.#id));

  constructor(load: (signal: AbortSignal) => Promise<Page<T>>, id: (row: T) => string) {
    this.#id = id;
    this.resource = new Resource(this.#taking(load));
  }

  /** Whether anything has been read. */
  get known(): boolean {
    return this.#shown !== undefined;
  }

  /** The rows on the screen, in the order in which they came, each as it is now. */
  get rows(): readonly T[] {
    return this.#kept.rows;
  }

  /** The ids of rows on the screen that are not in the list any longer. */
  get left(): ReadonlySet<string> {
    return this.#kept.left;
  }

  /** How many are in the list that are not on the screen. */
  get fresh(): number {
    return this.#kept.fresh;
  }

  /** Where the next page begins. */
  get next(): string | null {
    return this.#next;
  }

  /** Read again; the rows stay where they are. */
  refresh(): Promise<void> {
    return this.resource.refresh();
  }

  /** Show the list as it was read last, with what is new. */
  renew(): void {
    this.#shown = this.resource.data?.items;
    this.#next = this.resource.data?.next ?? null;
  }

  /** Read, and show the list as it is then. */
  async anew(): Promise<void> {
    await this.resource.refresh();
    this.renew();
  }

  /** Show another list; what was read stays until that is there. */
  use(load: (signal: AbortSignal) => Promise<Page<T>>): void {
    this.resource.use(this.#taking(load));
  }

  close(): void {
    this.resource.close();
  }

  /** The first page that comes is the one that is shown. */
  #taking(load: (signal: AbortSignal) => Promise<Page<T>>): (signal: AbortSignal) => Promise<Page<T>> {
    let first = true;
    return async (signal) => {
      const page = await load(signal);
      if (first && !signal.aborted) {
        first = false;
        this.#shown = page.items;
        this.#next = page.next;
      }
      return page;
    };
  }
}
