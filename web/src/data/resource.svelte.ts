/** Something that is read from the server: its newest state, how old that is, and what went wrong. */

import { asProblem, type Problem } from "../api/problems";
import { clock } from "./clock.svelte";
import { bucket } from "./bucket";
import { busy } from "./busy.svelte";

export class Resource<T> {
  data = $state.raw<T | undefined>();
  problem = $state.raw<Problem | undefined>();
  /** When the data was asked for, in milliseconds on the server's clock. */
  asOf = $state(0);
  loading = $state(false);
  #load: (signal: AbortSignal) => Promise<T>;
  #stop: AbortController | undefined;
  #again = false;
  /** Whether somebody waits for it: it is the first, or another one than before. */
  #awaited = true;

  constructor(load: (signal: AbortSignal) => Promise<T>) {
    this.#load = load;
  }

  /** Read anew; while one read is under way only one more waits behind it. */
  async refresh(): Promise<void> {
    if (this.#stop !== undefined) {
      this.#again = true;
      return;
    }
    const stop = new AbortController();
    this.#stop = stop;
    this.loading = true;
    const awaited = this.#awaited;
    if (awaited) busy.begin();
    try {
      do {
        this.#again = false;
        await bucket.take(stop.signal);
        const asked = Date.now() + clock.offset;
        const data = await this.#load(stop.signal);
        if (stop.signal.aborted) return;
        this.data = data;
        this.asOf = asked;
        this.problem = undefined;
        this.#awaited = false;
      } while (this.#again);
    } catch (error) {
      if (!stop.signal.aborted) this.problem = asProblem(error);
    } finally {
      if (awaited) busy.end();
      if (this.#stop === stop) {
        this.#stop = undefined;
        this.loading = false;
      }
    }
  }

  /** Read something else from now on; what was read stays until that is there. */
  use(load: (signal: AbortSignal) => Promise<T>): void {
    this.close();
    this.#load = load;
    this.#awaited = true;
    void this.refresh();
  }

  /** Give up whatever is under way. */
  close(): void {
    this.#stop?.abort();
    this.#stop = undefined;
    this.#again = false;
    this.loading = false;
  }
}
