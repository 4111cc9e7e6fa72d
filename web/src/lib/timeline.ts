/** A task's life as stretches of time: what it did in each, to be drawn to scale. Pure. */

import type { Stretch } from "./scale";

export type Doing = "not-due" | "waiting" | "running" | "retry-wait";

/** What the bars mean, in the order of a task's life. */
export const LEGEND: Readonly<Record<Doing, string>> = {
  "not-due": "not due",
  waiting: "waiting",
  running: "running",
  "retry-wait": "to the end of the next attempt; when earlier ones started is not kept",
};

export interface Span extends Stretch {
  readonly doing: Doing;
  /** What is written at it: "attempt 2". */
  readonly text: string;
  /** How it ended, if that is worth a mark. */
  readonly end?: "failed" | "completed" | "cancelled";
}

export interface Lived {
  readonly created_at: string;
  readonly run_at: string;
  readonly started_at: string | null;
  readonly finished_at: string | null;
  readonly state: string;
  readonly attempt: number;
  readonly errors: readonly { readonly at: string; readonly attempt: number; readonly type: string }[];
}

/**
 * The spans of a task up to `now`. The starts of earlier attempts are not kept: between two errors
 * the time is one of waiting and trying again, and says so.
 */
export function spans(task: Lived, now: number): Span[] {
  const created = Date.parse(task.created_at);
  const started = task.started_at === null ? undefined : Date.parse(task.started_at);
  const finished = task.finished_at === null ? undefined : Date.parse(task.finished_at);
  const errors = task.errors.map((error) => ({ ...error, ms: Date.parse(error.at) }));
  const found: Span[] = [];
  let at = created;
  const add = (to: number, doing: Doing, text: string, end?: Span["end"]): void => {
    if (to <= at) return;
    const idle = doing === "not-due";
    found.push({ from: at, to, doing, text, idle, ...(end === undefined ? {} : { end }) });
    at = to;
  };
  const firstDue = errors.length === 0 && started === undefined ? Date.parse(task.run_at) : undefined;
  if (firstDue !== undefined) add(Math.min(firstDue, finished ?? now), "not-due", "not due");
  else if (errors.length === 0) add(Math.min(Date.parse(task.run_at), started ?? now), "not-due", "not due");
  for (const error of errors) {
    if (started !== undefined && started < error.ms && started > at) add(started, "waiting", "waiting");
    const text = `attempt ${error.attempt}: ${error.type}`;
    add(error.ms, started !== undefined && at >= started ? "running" : "retry-wait", text, "failed");
  }
  if (finished !== undefined) {
    if (started !== undefined && started > at) add(started, "waiting", "waiting");
    const ran = started !== undefined && at >= started;
    const end = task.state === "completed" ? "completed" : task.state === "failed" ? "failed" : "cancelled";
    add(finished, ran ? "running" : "waiting", ran ? `attempt ${task.attempt}` : "waiting", end);
  } else if (task.state === "running" && started !== undefined) {
    add(started, "waiting", "waiting");
    add(now, "running", `attempt ${task.attempt}`);
  } else if (now > at) {
    const due = Date.parse(task.run_at);
    if (due > at) add(Math.min(due, now), errors.length > 0 ? "retry-wait" : "not-due", errors.length > 0 ? "until the next attempt" : "not due");
    add(now, "waiting", "waiting");
  }
  return found;
}
