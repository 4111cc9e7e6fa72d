/** Reads again what changed on the server, while somebody looks. */

import { Events, type Connection, type Heard, type Topic } from "../api/events";

class Live {
  connection = $state<Connection>("off");
  #wanted = $state(true);
  /** Since when there is no stream, in milliseconds on this machine's clock; undefined while there is one. */
  lostAt = $state<number | undefined>();
  #events: Events | undefined;
  #scope: string | undefined;
  #waiting = new Set<() => void>();

  /** Whether whoever looks wants it live; what was missed meanwhile is read once. */
  get wanted(): boolean {
    return this.#wanted;
  }

  set wanted(wanted: boolean) {
    this.#wanted = wanted;
    if (wanted) for (const seen of this.#waiting) seen();
  }

  /** Hear of what concerns this key; nothing changes if that is so already. */
  start(scope: string): void {
    if (this.#events !== undefined && scope === this.#scope) return;
    this.stop();
    this.#scope = scope;
    const events = new Events(scope);
    this.#events = events;
    events.watch((connection) => {
      this.connection = connection;
      this.lostAt = connection === "reconnecting" ? (this.lostAt ?? Date.now()) : undefined;
    });
    events.start();
  }

  stop(): void {
    this.#events?.stop();
    this.#events = undefined;
  }

  /**
   * Call `act` when one of the topics changes, at most once in `apart` milliseconds; while nobody
   * looks or wants it not at all, and once afterwards if something was missed. Returns what ends it.
   */
  on(topics: readonly Topic[], act: (heard: Heard) => void, apart = 500): () => void {
    let timer: ReturnType<typeof setTimeout> | undefined;
    let last = 0;
    let newest: Heard | undefined;
    let missed = false;
    const looked = (): boolean => document.visibilityState === "visible" && this.#wanted;
    const later = (heard: Heard): void => {
      newest = heard;
      if (timer !== undefined) return;
      timer = setTimeout(() => {
        timer = undefined;
        missed = !looked();
        if (missed || newest === undefined) return;
        last = performance.now();
        act(newest);
      }, Math.max(0, last + apart - performance.now()));
    };
    const hear = (heard: Heard): void => {
      if (heard.topic !== "reset" && !topics.includes(heard.topic)) return;
      if (looked()) {
        later(heard);
        return;
      }
      missed = true;
      newest = heard;
    };
    const seen = (): void => {
      if (!missed || !looked()) return;
      missed = false;
      later(newest ?? { topic: "reset", data: null });
    };
    const end = this.#events?.hear(hear);
    this.#waiting.add(seen);
    document.addEventListener("visibilitychange", seen);
    return () => {
      clearTimeout(timer);
      end?.();
      this.#waiting.delete(seen);
      document.removeEventListener("visibilitychange", seen);
    };
  }
}

export const live = new Live();
