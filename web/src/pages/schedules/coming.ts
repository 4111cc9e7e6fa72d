/** What a schedule will do, read month by month or from an instant on. */

import { get } from "../../api/client";
import { dayOf, type Firing } from "../../lib/calendar";

/** So many firings of a month are read at most. */
const MOST = 1000;
const PAGE = 500;
const LEFT_OUT = /^(\d{4}-\d\d-\d\d) (\d\d:\d\d)\b.*\bskipped\b/;

export interface Coming {
  readonly firings: readonly Firing[];
  /** The last day of which all are there, if there are more than were read. */
  readonly until: string | undefined;
}

/** Notes that say more than how long the start is put off. */
export function surprises(firing: Firing): string[] {
  return firing.notes.filter((note) => !note.startsWith("jitter:"));
}

/** Local times that are left out in a gap, by their days: what the next firing tells of them. */
export function leftOut(firings: readonly Firing[]): Map<string, { readonly time: string; readonly note: string }> {
  const found = firings.flatMap((one) => surprises(one).map((note) => [LEFT_OUT.exec(note), note] as const));
  return new Map(found.flatMap(([seen, note]) => (seen ? [[seen[1] ?? "", { time: seen[2] ?? "", note }] as const] : [])));
}

/** What is special about a firing itself, not about one before it that is left out. */
export function own(firing: Firing): string[] {
  return surprises(firing).filter((note) => !LEFT_OUT.test(note));
}

/** The firings in `from <= firing < to`, in milliseconds since 1970. */
export async function between(name: string, from: number, to: number, clock: "local" | "utc", signal: AbortSignal): Promise<Coming> {
  const found: Firing[] = [];
  let after = from - 1;
  while (found.length < MOST) {
    const page = await ahead(name, after, PAGE, signal);
    const inside = page.filter((one) => Date.parse(one.utc) < to);
    found.push(...inside);
    if (inside.length < PAGE) return { firings: found, until: undefined };
    after = Date.parse(page.at(-1)?.utc ?? "");
  }
  const last = found.at(-1);
  const day = last === undefined ? undefined : dayOf(last, clock);
  // Of the day of the last one that was read there may be more.
  return { firings: found.filter((one) => dayOf(one, clock) !== day || found.every((other) => dayOf(other, clock) === day)), until: day === undefined ? undefined : before(day) };
}

/** The next firings after an instant. */
export async function ahead(name: string, after: number, count: number, signal: AbortSignal): Promise<Firing[]> {
  const query = { after: new Date(after).toISOString(), count } as never;
  return (await get("/v1/schedules/{name}/preview", { path: { name }, query, signal })).items;
}

function before(day: string): string {
  return new Date(Date.parse(`${day}T00:00:00Z`) - 86_400_000).toISOString().slice(0, 10);
}
