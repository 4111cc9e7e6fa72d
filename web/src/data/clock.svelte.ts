/** The server's time on this page: one timer a second for all that ages. */

class Clock {
  /** Milliseconds since 1970 on the server's clock, to the second. */
  now = $state(Date.now());
  /** How far this machine's clock is from the server's, in milliseconds. */
  offset = $state(0);
  #timer: ReturnType<typeof setInterval> | undefined;

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
