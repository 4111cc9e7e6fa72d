/** A change of many tasks in words: what it does, how far it is, what came of it. Pure. */

import { duration, exact, percent, plural } from "./format";

export interface Shown {
  readonly do: string;
  readonly on: string;
  readonly state: string;
  readonly matched: number;
  readonly capped: boolean;
  readonly done: number;
  readonly changed: number;
  readonly skipped: Readonly<Record<string, number>>;
}

const VERBS: Readonly<Record<string, readonly [string, string]>> = {
  cancel: ["Cancel", "cancelled or asked to stop"],
  retry: ["Retry", "made ready"],
  amend: ["Change", "changed"],
  delete: ["Delete", "deleted"],
  replay: ["Replay", "submitted again"],
  discard: ["Discard", "discarded"],
  restore: ["Restore", "restored"],
};
const WHY_NOT: Readonly<Record<string, string>> = {
  too_late: "already over",
  not_waiting: "no longer waiting",
  not_retryable: "not to be retried",
  not_finished: "not over yet",
  not_found: "gone meanwhile",
};
const STATES: Readonly<Record<string, readonly [string, string]>> = {
  running: ["running", "running"],
  completed: ["completed", "completed"],
  stopped: ["cancelled", "stopped"],
  failed: ["failed", "failed"],
};

/** "Cancel 1,250 tasks". */
export function title(action: Shown): string {
  const verb = VERBS[action.do]?.[0] ?? action.do;
  const things = action.on === "dead_letters" ? ["dead letter", "dead letters"] : ["task", "tasks"];
  return `${verb} ${exact(action.matched)}${action.capped ? "+" : ""} ${things[action.matched === 1 ? 0 : 1]}`;
}

/** Its state: the shape that stands for it, and the word. */
export function stateOf(action: Shown): { readonly shape: string; readonly word: string } {
  const [shape, word] = STATES[action.state] ?? ["ready", action.state];
  return { shape, word };
}

/** How far it is: "310 of 500, 62 %"; of more than are counted beforehand only how many are behind it. */
export function far(action: Shown): string {
  if (action.capped) return `${exact(action.done)} ${action.state === "completed" ? "in all" : "so far"}`;
  const part = action.matched > 0 ? `, ${percent(Math.min(1, action.done / action.matched))}` : "";
  return `${exact(action.done)} of ${exact(action.matched)}${part}`;
}

/** What part is behind it; undefined where nobody knows of how many. */
export function part(action: Shown): number | undefined {
  if (action.state === "completed") return 1;
  return action.capped ? undefined : action.done / Math.max(1, action.matched);
}

/** What came of it so far, exactly: "1,190 cancelled or asked to stop, 23 already over, 37 not looked at". */
export function outcome(action: Shown): string {
  const parts = [`${exact(action.changed)} ${VERBS[action.do]?.[1] ?? "changed"}`];
  for (const [why, number] of Object.entries(action.skipped)) {
    if (number > 0) parts.push(`${exact(number)} ${WHY_NOT[why] ?? why.replaceAll("_", " ")}`);
  }
  const rest = action.matched - action.done;
  if (action.state !== "running" && action.state !== "completed" && rest > 0 && !action.capped) {
    parts.push(`${exact(rest)} left as they were`);
  }
  return `${parts.join(", ")}.`;
}

/** How quick it is and how long it will take, from how far it was at two instants (milliseconds). */
export function pace(action: Shown, before: { readonly done: number; readonly at: number } | undefined, now: number): string | undefined {
  if (before === undefined || now - before.at < 500 || action.done <= before.done) return undefined;
  const perSecond = ((action.done - before.done) * 1000) / (now - before.at);
  const rest = action.capped ? undefined : (action.matched - action.done) / perSecond;
  const quick = `${plural(Math.round(perSecond), "task")} a second`;
  return rest === undefined ? quick : `${quick}, about ${duration(rest)} to go`;
}
