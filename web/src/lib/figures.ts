/** The seven figures: what they are called, in what they are measured, and how that is written. Pure. */

import { count, duration, percent } from "./format";

export type Unit = "tasks" | "seconds" | "ratio";

export interface FigureKind {
  readonly name: string;
  readonly unit: Unit;
  /** What it means, in a sentence. */
  readonly means: string;
}

export const FIGURES: Readonly<Record<string, FigureKind>> = {
  queue_depth: { name: "waiting tasks", unit: "tasks", means: "How many tasks are due and wait, in queues that are not paused." },
  oldest_age: { name: "oldest ready task", unit: "seconds", means: "For how long the oldest task that could run has waited." },
  error_rate: { name: "errors", unit: "ratio", means: "Which part of the runs of the last 5 minutes failed." },
  dead_letters: { name: "dead letters", unit: "tasks", means: "How many tasks have failed for good and are not settled." },
  worker_saturation: { name: "workers busy", unit: "ratio", means: "Which part of all slots is in use." },
  run_p99: { name: "p99 run time", unit: "seconds", means: "99 of 100 runs of the last 5 minutes were shorter." },
  scheduler_silence: { name: "scheduler silence", unit: "seconds", means: "For how long no node has looked after schedules." },
};

/** What a figure is called. */
export function nameOf(figure: string): string {
  return FIGURES[figure]?.name ?? figure;
}

/** A figure's value in its unit; nothing measured is a dash. */
export function valueOf(figure: string, value: number | null | undefined): string {
  if (value === null || value === undefined) return "–";
  const unit = FIGURES[figure]?.unit;
  return unit === "ratio" ? percent(value) : unit === "seconds" ? duration(value) : count(value);
}

/** What a rule watches besides its figure, in words. */
export function reach(queue: string | null): string {
  return queue === null ? "all queues together" : queue === "*" ? "each queue" : `queue ${queue}`;
}

/** A threshold as it is written in a field: parts of one in percent. */
export function written(figure: string, threshold: number): number {
  return FIGURES[figure]?.unit === "ratio" ? rounded(threshold * 100) : threshold;
}

/** A field's threshold as the API takes it. */
export function read(figure: string, field: number): number {
  return FIGURES[figure]?.unit === "ratio" ? rounded(field / 100) : field;
}

/** What stands behind the field of a threshold. */
export function unitOf(figure: string): string {
  const unit = FIGURES[figure]?.unit;
  return unit === "ratio" ? "%" : unit === "seconds" ? "seconds" : "tasks";
}

/** A duration in seconds as the shortest text that the API reads: "90s", "2h". */
export function span(seconds: number): string {
  for (const [size, unit] of [[86_400, "d"], [3600, "h"], [60, "m"]] as const) {
    if (seconds >= size && seconds % size === 0) return `${seconds / size}${unit}`;
  }
  return `${seconds}s`;
}

function rounded(value: number): number {
  return Number(value.toPrecision(12));
}
