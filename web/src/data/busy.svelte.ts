/** Whether something that somebody asked for is on its way: nothing is said of it for 150 ms. */

const PATIENCE = 150;

class Busy {
  /** Whether to say so. */
  shown = $state(false);
  #reads = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;

  begin(): void {
    this.#reads += 1;
    this.#timer ??= setTimeout(() => (this.shown = true), PATIENCE);
  }

  end(): void {
    this.#reads -= 1;
    if (this.#reads > 0) return;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.shown = false;
  }
}

export const busy = new Busy();
