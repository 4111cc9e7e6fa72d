/** Which dead letters an address means, and how what was done with them is said. */

import type { components } from "../../api/schema";
import { cut, exact, plural, visible } from "../../lib/format";

export type Letter = components["schemas"]["TaskSummary"];
export type Group = components["schemas"]["DeadLetterGroup"];
export type Action = components["schemas"]["Action"];
export type Sort = "count" | "last" | "first";

/** Dead letters by their ids, or all that a filter matches. */
export type Target = { readonly ids: readonly string[] } | { readonly filter: Readonly<Record<string, string>> };

const NARROWS = ["kind", "queue", "tenant"] as const;

/** The filters of an address that the server takes; an empty tenant is the one without a name. */
export function narrowed(query: URLSearchParams): Record<string, string> {
  const found: Record<string, string> = {};
  for (const name of NARROWS) {
    const value = query.get(name);
    if (value !== null && (value !== "" || name === "tenant")) found[name] = value;
  }
  return found;
}

/** A filter in words: "kind send_result · tenant (none)". */
export function words(filter: Readonly<Record<string, string>>): string {
  // A group's id says nothing to anybody; what it is stands above.
  const parts = Object.entries(filter).map(([name, value]) => (name === "error_group" ? "this group" : `${name} ${value || "(none)"}`));
  return parts.length === 0 ? "all dead letters" : parts.join(" · ");
}

/** The groups whose error has the text in it, in the order that is wanted. */
export function chosen(groups: readonly Group[], text: string, sort: Sort): Group[] {
  const wanted = text.trim().toLowerCase();
  const found = groups.filter((one) => `${one.kind} ${title(one)}`.toLowerCase().includes(wanted));
  const newest = (a: string, b: string): number => Date.parse(b) - Date.parse(a);
  return found.sort((a, b) => {
    if (sort === "last") return newest(a.last_at, b.last_at);
    if (sort === "first") return newest(b.first_at, a.first_at);
    return b.count - a.count;
  });
}

/** What the errors of a group have in common. */
export function title(group: Pick<Group, "error_type" | "shape">): string {
  return group.shape === "" ? group.error_type : `${group.error_type}: ${group.shape}`;
}

/** What an action is asked with. */
export function body(target: Target): Record<string, unknown> {
  if ("ids" in target) return { on: "dead_letters", ids: target.ids };
  const filter = Object.keys(target.filter).length === 0 ? { all: true } : target.filter;
  return { on: "dead_letters", filter };
}

const SKIPPED: Readonly<Record<string, string>> = {
  replayed_before: "replayed before", nothing_to_do: "already settled", not_found: "no longer kept",
};

/** What became of an action, in one sentence. */
export function outcome(done: string, action: Pick<Action, "changed" | "skipped">): string {
  const parts = [`${exact(action.changed)} ${done}`];
  for (const [why, number] of Object.entries(action.skipped)) {
    if (number > 0) parts.push(`${exact(number)} ${SKIPPED[why] ?? why.replaceAll("_", " ")}`);
  }
  return `${parts.join(", ")}.`;
}

/** What became of the copies that were tried first: "3 completed again, 1 failed again, 1 runs". */
export function tried(states: readonly string[]): string {
  const ended = { completed: 0, failed: 0, cancelled: 0 };
  let open = 0;
  for (const state of states) {
    if (state in ended) ended[state as keyof typeof ended] += 1;
    else open += 1;
  }
  const parts = [
    ended.completed > 0 ? `${ended.completed} completed` : "",
    ended.failed > 0 ? `${ended.failed} failed again` : "",
    ended.cancelled > 0 ? `${ended.cancelled} cancelled` : "",
    open > 0 ? `${plural(open, "is", "are")} not over yet` : "",
  ];
  return parts.filter((part) => part !== "").join(", ");
}

/** So many of the newest of a group are looked at to say whose they are. */
const LOOKED_AT = 1_000;
const HOURS = 24;
const HOUR_MS = 3_600_000;

/** Whose a group's dead letters are, the most first: "board 70, college 4 and others 12". */
export function whose(group: Pick<Group, "count" | "by_tenant">, most = 5): string {
  const all = Object.entries(group.by_tenant).sort((a, b) => b[1] - a[1]);
  if (all.length === 0 || (all.length === 1 && all[0]?.[0] === "")) return "";
  const of = Math.min(group.count, LOOKED_AT);
  const shown = all.slice(0, most);
  const rest = of - shown.reduce((sum, [, number]) => sum + number, 0);
  const names = shown.map(([name, number]) => `${name === "" ? "(none)" : visible(cut(name, 24))} ${exact(number)}`).join(", ");
  const others = rest > 0 ? `${names} and others ${exact(rest)}` : names;
  return group.count > LOOKED_AT ? `${others} of the newest ${exact(LOOKED_AT)}` : others;
}

/** How many failed in each of the last 24 hours, the oldest first; the last one is not over. */
export function lately(group: Pick<Group, "by_hour">, asOf: string): number[] {
  const last = Math.floor(Date.parse(asOf) / HOUR_MS);
  const bars = new Array<number>(HOURS).fill(0);
  for (const [at, number] of Object.entries(group.by_hour)) {
    const place = HOURS - 1 - last + Math.floor(Date.parse(at) / HOUR_MS);
    // A clock may be ahead of the server's.
    const within = Math.min(place, HOURS - 1);
    if (within >= 0) bars[within] = (bars[within] ?? 0) + number;
  }
  return bars;
}

/** The same in a sentence: "31 in the last 24 hours, most in an hour 12". */
export function spoken(bars: readonly number[]): string {
  const sum = bars.reduce((all, one) => all + one, 0);
  if (sum === 0) return "none failed in the last 24 hours";
  return `${exact(sum)} failed in the last 24 hours, ${exact(Math.max(...bars))} in the hour with the most`;
}
