/** No page asks for more than four things a second, whatever happens on the server. */

const PER_SECOND = 4;
const BURST = 8;

class Bucket {
  private tokens = BURST;
  private filled = performance.now();

  /** Wait until one more request may be sent. */
  async take(signal: AbortSignal): Promise<void> {
    for (;;) {
      const now = performance.now();
      this.tokens = Math.min(BURST, this.tokens + ((now - this.filled) / 1000) * PER_SECOND);
      this.filled = now;
      if (this.tokens >= 1) {
        this.tokens -= 1;
        return;
      }
      await pause(((1 - this.tokens) / PER_SECOND) * 1000, signal);
    }
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(signal.reason as Error);
    });
  });
}

export const bucket = new Bucket();
