/** Who is due how much, how many tokens there are by now, and what a change would do. Pure. */

import { exact, percent, rate as shownRate } from "./format";

export interface Part {
  readonly name: string;
  readonly weight: number;
}

/** The part of all that a tenant is due beside the others that want something. */
export function due(weight: number, others: readonly Part[]): number {
  const sum = others.reduce((all, other) => all + other.weight, weight);
  return sum === 0 ? 0 : weight / sum;
}

/** Tokens by now: refilled at the rate since they were read, never more than the burst. */
export function refilled(tokens: number, rate: number, burst: number, readAt: number, now: number): number {
  return Math.min(burst, tokens + (rate * Math.max(0, now - readAt)) / 1000);
}

/** "weight 3 of 5: 60 % when all 3 wait". */
export function weightSentence(weight: number | null, others: readonly Part[]): string {
  if (weight === null) return "";
  const sum = others.reduce((all, other) => all + other.weight, weight);
  if (others.length === 0) return `Weight ${weight}: nobody else wants anything, so it gets all there is.`;
  return `Weight ${weight} of ${sum}: ${percent(weight / sum)} of each queue where all ${others.length + 1} wait.`;
}

/** What a bound of the running tasks does to those that run now. */
export function capSentence(cap: number | null, running: number): string {
  if (cap === null) return "No bound: as many run as there are slots.";
  if (cap < running) {
    const room = cap === 1 ? "none of them runs" : `at most ${exact(cap - 1)} ${cap === 2 ? "runs" : "run"}`;
    return `${exact(running)} run now. None is stopped; new ones wait until ${room}.`;
  }
  return `${exact(running)} of ${exact(cap)} would be in use now.`;
}

/** What a bound of starts a second does. */
export function rateSentence(perSecond: number | null): string {
  if (perSecond === null) return "No bound of starts.";
  const minute = perSecond * 60;
  return `At most ${shownRate(perSecond)} a second start: ${minute >= 1 ? `${exact(minute)} a minute` : `${exact(minute * 60)} an hour`}.`;
}

/** What a bound of the waiting tasks does: the lower the class, the sooner it is turned away. */
export function depthSentence(most: number | null, waiting: number, whenFull = "refuse"): string {
  if (most === null) return "No bound of what waits.";
  const does = whenFull === "refuse" ? "refused" : "put off";
  const [normal, high] = [exact(Math.ceil(most * 1.5)), exact(most * 2)];
  const from = `Low tasks are ${does} from ${exact(most)} that wait on, normal from ${normal}, high from ${high}; critical never.`;
  return `${from} ${exact(waiting)} wait now${waiting >= most ? ", and are kept" : ""}.`;
}

export type Classes = Readonly<Record<"critical" | "high" | "normal" | "low", number>>;

/** What each class gets of a saturated queue: "critical 50 %, high 30 %". */
export function classesSentence(weights: Classes): string {
  const parts = Object.entries(weights);
  const sum = parts.reduce((all, [, weight]) => all + weight, 0);
  const said = parts.map(([name, weight]) => `${name} ${percent(sum === 0 ? 0 : weight / sum)}`);
  return `When all classes wait: ${said.join(", ")}.`;
}
