/**
 * What changes on the server, as it says so: one stream for all tabs of this browser.
 *
 * A browser keeps six connections to a host, and a stream holds one. So one tab has it (a lock says
 * which) and tells the others. Events say "look again"; what is shown is always read afterwards.
 */

import { get } from "./client";

export type Topic =
  | "tasks" | "queues" | "schedules" | "dead_letters" | "sessions" | "alerts" | "actions" | "stats"
  | "reset" | "bye";

export interface Heard {
  readonly topic: Topic;
  readonly data: unknown;
}

export type Connection = "live" | "reconnecting" | "off";

const TOPICS: readonly Topic[] = [
  "tasks", "queues", "schedules", "dead_letters", "sessions", "alerts", "actions", "stats", "reset",
  "bye",
];
// Without topics: all that this key may hear of.
const ADDRESS = "/v1/events";
const LONGEST_PAUSE = 30_000;
/**
 * A stream on which nothing came for so long is opened anew. A machine that slept, or changed its
 * network, has one that looks open and is dead; the server says something every second, to a key of a
 * part at least now and then.
 */
const SILENT = 45_000;
const LOOK = 1000;

type Told =
  | { readonly heard: Heard }
  | { readonly connection: Connection }
  /** A tab that comes later asks whether there is a stream; the one that has it answers. */
  | { readonly asked: true };

export class Events {
  private readonly hearers = new Set<(heard: Heard) => void>();
  private readonly watchers = new Set<(connection: Connection) => void>();
  private readonly channel: BroadcastChannel | undefined;
  private source: EventSource | undefined;
  private release: (() => void) | undefined;
  private failures = 0;
  private stopped = false;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private looking: ReturnType<typeof setInterval> | undefined;
  /** When something came last, in milliseconds on this machine's clock: the one that goes on in sleep. */
  private heardAt = Date.now();
  connection: Connection = "off";

  /** `scope` tells the keys apart: tabs that are signed in with another one have a stream of their own. */
  constructor(private readonly scope: string) {
    this.channel = "BroadcastChannel" in globalThis ? new BroadcastChannel(`rota.${scope}`) : undefined;
    this.channel?.addEventListener("message", (message: MessageEvent<Told>) => this.take(message.data));
  }

  /** Hear of changes until the returned function is called. */
  hear(hearer: (heard: Heard) => void): () => void {
    this.hearers.add(hearer);
    return () => this.hearers.delete(hearer);
  }

  /** Be told whether the stream is there. */
  watch(watcher: (connection: Connection) => void): () => void {
    this.watchers.add(watcher);
    watcher(this.connection);
    return () => this.watchers.delete(watcher);
  }

  /** Open the stream, or wait until this tab is the one to have it. */
  start(): void {
    if (navigator.locks === undefined) {
      this.open();
      return;
    }
    this.channel?.postMessage({ asked: true } satisfies Told);
    void navigator.locks.request(`rota.stream.${this.scope}`, async () => {
      if (this.stopped) return;
      this.open();
      await new Promise<void>((resolve) => (this.release = resolve));
    });
  }

  stop(): void {
    this.stopped = true;
    clearTimeout(this.timer);
    clearInterval(this.looking);
    // Only the tab that has the stream can say of the others that there is none.
    if (this.source === undefined) this.take({ connection: "off" });
    else this.tell({ connection: "off" });
    this.source?.close();
    this.source = undefined;
    this.release?.();
    this.channel?.close();
  }

  private open(): void {
    const source = new EventSource(ADDRESS);
    this.source = source;
    this.heardAt = Date.now();
    this.looking ??= setInterval(() => this.look(), LOOK);
    source.addEventListener("open", () => {
      this.heardAt = Date.now();
      // What happened before the stream was there is read once.
      const first = this.failures === 0 && this.connection === "off";
      this.failures = 0;
      this.tell({ connection: "live" });
      if (!first) this.tell({ heard: { topic: "reset", data: null } });
    });
    source.addEventListener("error", () => this.broken(source));
    for (const topic of TOPICS) {
      source.addEventListener(topic, (message) => {
        this.heardAt = Date.now();
        const data: unknown = JSON.parse((message as MessageEvent<string>).data || "null");
        this.tell({ heard: { topic, data } });
      });
    }
  }

  private look(): void {
    if (this.source === undefined || Date.now() - this.heardAt < SILENT) return;
    clearTimeout(this.timer);
    this.source.close();
    this.tell({ connection: "reconnecting" });
    this.open();
  }

  private broken(source: EventSource): void {
    this.tell({ connection: "reconnecting" });
    if (source.readyState !== EventSource.CLOSED) return;
    // A browser stops for good on any status but 200, and does not say which: a sign-in that is over
    // shows when one asks for anything else.
    void get("/v1/me").catch(() => undefined);
    this.failures += 1;
    const pause = Math.min(1000 * 2 ** this.failures, LONGEST_PAUSE) * (0.75 + Math.random() / 2);
    this.timer = setTimeout(() => this.open(), pause);
  }

  private tell(told: Told): void {
    this.take(told);
    this.channel?.postMessage(told);
  }

  private take(told: Told): void {
    if ("asked" in told) {
      if (this.source !== undefined) this.channel?.postMessage({ connection: this.connection } satisfies Told);
    } else if ("heard" in told) {
      for (const hearer of this.hearers) hearer(told.heard);
    } else if (told.connection !== this.connection) {
      this.connection = told.connection;
      for (const watcher of this.watchers) watcher(told.connection);
    }
  }
}
