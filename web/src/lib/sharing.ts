/** Who got how much of what was done, by steps of time, as charts want it. Pure. */

import { steps } from "./series";

/** What a tenant got in a step; null where a key may not know what all tenants got. */
export interface Got {
  readonly tenant: string;
  readonly completed: number;
  readonly ran_s: number;
  readonly share: number | null;
  readonly time_share: number | null;
  /** The part that its weight promises beside those that got something in this step. */
  readonly due: number | null;
}

/** A step in which something ended, and those that are told apart in it. */
export interface Step {
  readonly at: string;
  readonly completed: number | null;
  readonly ran_s: number | null;
  readonly tenants: readonly Got[];
}

/** What is shared out: tasks that were completed, or the time for which they ran. */
export type By = "tasks" | "time";

/** The time that is shown, in milliseconds, and the length of a step in seconds. */
export interface Stretch {
  readonly from: number;
  readonly to: number;
  readonly step: number;
}

export interface Shares {
  /** Seconds since 1970, one a step. */
  readonly times: number[];
  /** Those that got most, most first; undefined are all others together. */
  readonly parts: { readonly tenant: string | undefined; readonly values: (number | null)[] }[];
}

export const TOLD_APART = 5;
// Sums of times differ in their last digits: less than this is nobody's part.
const NOTHING = 0.0005;

const part = (got: Got, by: By): number | null => (by === "tasks" ? got.share : got.time_share);
const amount = (got: Got, by: By): number => (by === "tasks" ? got.completed : got.ran_s);

/** The parts of those that got most and of the rest; a step in which nothing ended is a gap. */
export function sharesOfAll(known: readonly Step[], stretch: Stretch, by: By): Shares {
  const { times, at } = aligned(known, stretch);
  const names = most(known, by);
  const told = names.map((tenant) => ({ tenant, values: at.map((step) => partOf(step, tenant, by)) }));
  const rest = at.map((step, n) => {
    if (!whole(step, by)) return null;
    const left = told.reduce((all, { values }) => all - (values[n] ?? 0), 1);
    return left < NOTHING ? 0 : left;
  });
  const more = rest.some((value) => value !== null && value > 0);
  return { times, parts: [...told, ...(more ? [{ tenant: undefined, values: rest }] : [])] };
}

/** What a tenant got and what it was due, step by step. */
export function sharesOfOne(known: readonly Step[], tenant: string, stretch: Stretch, by: By): {
  readonly times: number[];
  readonly got: (number | null)[];
  readonly due: (number | null)[];
} {
  const { times, at } = aligned(known, stretch);
  return {
    times,
    got: at.map((step) => partOf(step, tenant, by)),
    due: at.map((step) => of(step, tenant)?.due ?? null),
  };
}

/** How much a tenant got, step by step, where nobody else is known; nothing ended is zero. */
export function amounts(known: readonly Step[], tenant: string, stretch: Stretch, by: By): {
  readonly times: number[];
  readonly values: number[];
} {
  const { times, at } = aligned(known, stretch);
  return {
    times,
    values: at.map((step) => {
      const got = of(step, tenant);
      return got === undefined ? 0 : amount(got, by);
    }),
  };
}

function of(step: Step | undefined, tenant: string): Got | undefined {
  return step?.tenants.find((one) => one.tenant === tenant);
}

/** Whether anything was shared out in a step. */
function whole(step: Step | undefined, by: By): boolean {
  return ((by === "tasks" ? step?.completed : step?.ran_s) ?? 0) > 0;
}

function partOf(step: Step | undefined, tenant: string, by: By): number | null {
  const got = of(step, tenant);
  if (got !== undefined) return part(got, by);
  return whole(step, by) ? 0 : null;
}

/** The tenants that got most in all steps together. */
function most(known: readonly Step[], by: By): string[] {
  const sums = new Map<string, number>();
  for (const step of known) {
    for (const got of step.tenants) sums.set(got.tenant, (sums.get(got.tenant) ?? 0) + amount(got, by));
  }
  const names = [...sums].sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1)).map(([name]) => name);
  return names.slice(0, TOLD_APART);
}

function aligned(known: readonly Step[], { from, to, step }: Stretch): { times: number[]; at: (Step | undefined)[] } {
  const found = new Map(known.map((one) => [Math.floor(Date.parse(one.at) / 1000), one]));
  const times = steps(from, to, step);
  return { times, at: times.map((time) => found.get(time)) };
}
