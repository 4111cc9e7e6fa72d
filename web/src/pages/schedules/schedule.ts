/** What the pages of schedules share: their words, and the deeds of one click. */

import { send } from "../../api/client";
import type { components } from "../../api/schema";
import { turned } from "../../ui/pausing";
import { same } from "../../lib/zones";

export type Listed = components["schemas"]["ListedSchedule"];
export type Schedule = components["schemas"]["Schedule"];
export type Slot = components["schemas"]["Slot"];

/** What a schedule may be asked to do besides being paused. */
export type Deed = "run" | "backfill" | "delete";

/** Pause a schedule or let it go on, at once; `after` reads again what is shown. */
export async function pause(one: { id: string; name: string }, wanted: boolean, after: () => Promise<void>): Promise<void> {
  const path = { name: one.id };
  await turned(
    () => (wanted ? send("post", "/v1/schedules/{name}/pause", { path, body: {} as never }) : send("post", "/v1/schedules/{name}/resume", { path })),
    `${wanted ? "Paused" : "Resumed"} ${one.name}.`,
    `${wanted ? "Not paused" : "Not resumed"}: schedule ${one.name}`,
    () => pause(one, !wanted, after),
    after,
  );
}

/** The address of a schedule's page; by its id, for a name may be "new". */
export function address(one: { id: string }, more = ""): string {
  return `/schedules/${encodeURIComponent(one.id)}${more}`;
}

/** When it runs, in words; an expression where the words are not known. */
export function when(one: { words: string | null; expression: string | null; every: number | null }): string {
  return one.words ?? one.expression ?? (one.every === null ? "" : `every ${one.every} s`);
}

/** The words without the zone, where that is shown beside them. */
export function rule(one: { words: string | null; expression: string | null; every: number | null; tz: string }): string {
  const text = when(one);
  return text.endsWith(`, ${one.tz}`) ? text.slice(0, -one.tz.length - 2) : text;
}

/** Where it was declared, in words. */
export function origin(source: string): string {
  const [where, ...rest] = source.split(":");
  if (source === "") return "made at run time";
  return where === "code" ? `code of ${rest.join(":")}` : where === "crontab" ? `crontab ${rest.join(":")}` : source;
}

/** The zone of a schedule, unless it is the browser's own. */
export function foreign(tz: string, browser: string): string | undefined {
  return same(tz, browser) ? undefined : tz;
}
