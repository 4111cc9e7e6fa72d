/** What is to be told of workers' sessions: whether they live, for how long, and which are meant. Pure. */

import type { components } from "../../api/schema";

export type Session = components["schemas"]["Session"];
export type Standing = "live" | "draining" | "lost" | "ended";

/** From which part of its lease on a heartbeat is so old that somebody should look. */
const LATE = 2 / 3;
const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;

/** Whether it works, takes nothing more, lost its lease, or ended by itself. */
export function standing(one: Session): Standing {
  if (one.live) return one.draining ? "draining" : "live";
  // Whoever ends in good order does so while the lease holds.
  const until = Date.parse(one.lease_until);
  return one.closed_at !== null && Date.parse(one.closed_at) < until ? "ended" : "lost";
}

/** How many seconds its lease is, counted from the heartbeat that was heard last. */
export function lease(one: Session, asOf: number): number {
  return Math.max(0, one.heartbeat_age_s + (Date.parse(one.lease_until) - asOf) / 1000);
}

/** Whether its heartbeat is so old that it may lose its lease. */
export function late(one: Session, asOf: number): boolean {
  const whole = lease(one, asOf);
  return one.live && whole > 0 && one.heartbeat_age_s > whole * LATE;
}

/** The queue that a worker's word names ("sms=50" is sms), if it is a queue's name. */
export function queueOf(word: string): string | undefined {
  const name = word.split("=")[0] ?? "";
  return NAME.test(name) ? name : undefined;
}

export interface Wanted {
  /** In the name, the host or the id. */
  readonly q?: string | undefined;
  readonly queue?: string | undefined;
  readonly version?: string | undefined;
}

/** Whether a session is one of those that are meant. */
export function meant(one: Session, wanted: Wanted): boolean {
  const text = (wanted.q ?? "").trim().toLowerCase();
  if (!`${one.name}\n${one.host}\n${one.id}`.toLowerCase().includes(text)) return false;
  if (wanted.version !== undefined && one.version !== wanted.version) return false;
  return wanted.queue === undefined || one.queues.some((word) => word === wanted.queue || queueOf(word) === wanted.queue);
}

/** "8 live · 1 draining · 1 lost": what there is of each, without what there is none of. */
export function counted(sessions: readonly Session[]): string {
  const all = sessions.map(standing);
  const parts = (["live", "draining", "lost", "ended"] as const).map((what) => [all.filter((one) => one === what).length, what] as const);
  return parts.filter(([number, what]) => number > 0 || what === "live").map(([number, what]) => `${number} ${what}`).join(" · ");
}
