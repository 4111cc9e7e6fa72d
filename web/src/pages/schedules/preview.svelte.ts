/** Looks ahead of a rule while it is typed: after a short pause, and at most twice a second. */

import { send } from "../../api/client";
import type { components } from "../../api/schema";
import { asProblem, type Problem } from "../../api/problems";

const PAUSE = 300;
const APART = 500;
const COUNT = 6;

export class Preview {
  data = $state.raw<components["schemas"]["Preview"] | undefined>();
  /** Why the rule is refused, by its fields. */
  problem = $state.raw<Problem | undefined>();
  /** Whether what is shown is not yet that of what was typed. */
  behind = $state(false);
  #timer: ReturnType<typeof setTimeout> | undefined;
  #stop: AbortController | undefined;
  #last = -APART;

  /** Look ahead of another rule. */
  ask(rule: Record<string, unknown>): void {
    this.close();
    this.behind = true;
    this.#timer = setTimeout(() => void this.#look(rule), Math.max(PAUSE, this.#last + APART - performance.now()));
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#stop?.abort();
  }

  async #look(rule: Record<string, unknown>): Promise<void> {
    const stop = new AbortController();
    this.#stop = stop;
    this.#last = performance.now();
    try {
      const data = await send("post", "/v1/schedules/preview", { body: { ...rule, count: COUNT } as never, signal: stop.signal });
      if (stop.signal.aborted) return;
      this.data = data;
      this.problem = undefined;
      this.behind = false;
    } catch (error) {
      if (stop.signal.aborted) return;
      this.problem = asProblem(error);
      this.behind = false;
    }
  }
}
