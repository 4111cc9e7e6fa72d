/** The newest runs of a schedule as bars: what became of each slot, and in words. Pure. */

import { duration, inFull, moment } from "./format";

/** What became of a slot, as the server tells it. */
export interface Decided {
  readonly slot: string;
  readonly last: string | null;
  readonly count: number | null;
  readonly state: string;
  readonly task: string | null;
  readonly backfilled: boolean;
  readonly task_state: string | null;
  readonly attempt: number;
  readonly late_s: number | null;
  readonly ran_s: number | null;
}

export type Shape = "completed" | "late" | "failed" | "skipped" | "running" | "waiting" | "cancelled" | "gone";

export interface Bar {
  readonly key: string;
  readonly shape: Shape;
  readonly title: string;
  readonly task: string | null;
}

/** How many runs a strip shows. */
export const MOST = 30;

const REASONS: Record<string, string> = {
  "skipped:missed": "missed: nothing fired it in time",
  "skipped:overlap": "left out: an earlier run was not over",
  "skipped:gap": "left out: this local time does not exist, for the clocks go forward",
  "skipped:paused": "left out: the schedule was paused",
};

/** What each shape stands for, for the legend. */
export const LEGEND: readonly (readonly [Shape, string])[] = [
  ["completed", "completed"],
  ["late", "started late"],
  ["failed", "failed"],
  ["cancelled", "cancelled"],
  ["skipped", "skipped"],
  ["running", "running"],
  ["waiting", "waits"],
];

/** Which shape a slot has; it is late from `grace` seconds on. */
export function shape(one: Decided, grace: number): Shape {
  if (one.state !== "fired") return "skipped";
  switch (one.task_state) {
    case "running":
      return "running";
    case "scheduled":
    case "ready":
      return "waiting";
    case "failed":
      return "failed";
    case "cancelled":
      return "cancelled";
    case "completed":
      return isLate(one, grace) ? "late" : "completed";
    default:
      return "gone";
  }
}

/** Whether a run began later than it should have. */
export function isLate(one: Decided, grace: number): boolean {
  return one.state === "fired" && one.late_s !== null && one.late_s >= grace;
}

/** Why there is no run, or what became of it, in words. */
export function said(one: Decided): string {
  if (one.state !== "fired") {
    const many = one.count === 1 ? "" : `${one.count === null ? "more slots than are counted" : `${one.count.toLocaleString("en")} slots`}, `;
    return many + (REASONS[one.state] ?? one.state);
  }
  const words: string[] = [one.task_state ?? "its task is kept no more"];
  if (one.backfilled) words.push("made up for later");
  if (one.late_s !== null && one.late_s >= 1) words.push(`${duration(one.late_s)} late`);
  if (one.ran_s !== null) words.push(`ran ${duration(one.ran_s)}`);
  if (one.attempt > 1) words.push(`${one.attempt} attempts`);
  return words.join(", ");
}

/** The bars of a strip from old to new, at most thirty. */
export function bars(runs: readonly Decided[], zone: string | undefined, grace: number): Bar[] {
  return runs
    .slice(0, MOST)
    .map((one) => ({
      key: `${one.slot} ${one.state} ${one.task ?? ""}`,
      shape: shape(one, grace),
      title: `${range(one, zone)}: ${said(one)}`,
      task: one.task,
    }))
    .reverse();
}

/** One sentence about a strip, for those who do not see it. */
export function spoken(all: readonly Bar[]): string {
  if (all.length === 0) return "no runs yet";
  const counts = LEGEND.map(([name, words]) => [all.filter((one) => one.shape === name).length, words] as const);
  const parts = counts.filter(([number]) => number > 0).map(([number, words]) => `${number} ${words}`);
  return `last ${all.length} runs: ${parts.join(", ")}`;
}

function range(one: Decided, zone: string | undefined): string {
  const first = inFull(Date.parse(one.slot), zone);
  return one.last === null ? first : `${first} to ${moment(Date.parse(one.last), Date.parse(one.slot), zone)}`;
}
