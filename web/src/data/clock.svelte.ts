/** The server's time on this page: one timer a second for all that ages. */

/** From how far on somebody is told that this machine's clock is wrong, in milliseconds. */
const WRONG = 5_000;

class Clock {
  /** Milliseconds since 1970 on the server's clock, to the second. */
  now = $state(Date.now());
  /** How far this machine's clock is from the server's, in milliseconds. */
  offset = $state(0);
  #timer: ReturnType<typeof setInterval> | undefined;

  /** How far this machine's clock is off, if it is worth a word. */
  readonly wrong = $derived(Math.abs(this.offset) >= WRONG ? this.offset : undefined);

  /** Take in the server's time, as an answer told it. */
  observe(serverTime: number): void {
    this.offset = serverTime - Date.now();
    this.now = Date.now() + this.offset;
  }

  start(): void {
    this.#timer ??= setInterval(() => {
      if (document.visibilityState === "visible") this.now = Date.now() + this.offset;
    }, 1000);
  }
}

export const clock = new Clock();
