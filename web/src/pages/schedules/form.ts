/** What the form of a schedule holds, as text; to what the API takes, and back. Pure. */

import { parse } from "../../lib/json";
import { instantOf, known, local } from "../../lib/zones";
import type { Schedule } from "./schedule";

export const BLANK = {
  name: "", kind: "", payload: "{}",
  mode: "cron" as "cron" | "every", expression: "0 9 * * MON-FRI", seconds: false, both_days: false,
  every: "15m", anchor: "", tz: "UTC", gap: "run_after", fold: "first", starts_at: "", ends_at: "",
  missed: "run_once", grace: "60s", max_catchup: "100", max_age: "1d", overlap: "", max_pending: "1",
  jitter: "", max_runs: "",
  queue: "", tenant: "", priority: "", timeout: "", expires_in: "", tags: "", headers: "",
  concurrency_key: "", max_concurrency: "",
  retry: false, retry_type: "exponential", retry_base: "2", retry_multiplier: "2", retry_cap: "300",
  retry_jitter: "0.25", retry_max_attempts: "5",
};
export type Fields = typeof BLANK;
export type FieldName = keyof Fields;

const RULE = ["expression", "every", "anchor", "tz", "seconds", "both_days", "gap", "fold", "starts_at", "ends_at"];
const POLICY = ["missed", "grace", "max_catchup", "max_age", "overlap", "jitter", "max_runs"];
const UNITS: readonly (readonly [number, string])[] = [[86_400, "d"], [3600, "h"], [60, "m"]];

/** A duration as the API takes it, in the largest unit that it is a whole number of. */
export function short(seconds: number | null): string {
  if (seconds === null || seconds === 0) return "";
  const [size, unit] = UNITS.find(([one]) => seconds % one === 0) ?? [1, "s"];
  return `${seconds / size}${unit}`;
}

/** The form of a schedule that is stored; `payload` is its JSON with every digit. */
export function fieldsOf(one: Schedule, payload: string): Fields {
  const at = (text: string | null): string => (text === null ? "" : trimmed(local(Date.parse(text), zoneOf(one.tz))));
  const whole = (value: number | null): string => (value === null ? "" : String(value));
  return {
    ...BLANK,
    name: one.name, kind: one.kind, payload,
    mode: one.every === null ? "cron" : "every",
    expression: one.expression ?? BLANK.expression, seconds: one.seconds, both_days: one.both_days,
    every: one.every === null ? BLANK.every : short(one.every), anchor: at(one.anchor), tz: one.tz,
    gap: one.gap, fold: one.fold, starts_at: at(one.starts_at), ends_at: at(one.ends_at),
    missed: one.missed, grace: short(one.grace), max_catchup: whole(one.max_catchup),
    max_age: short(one.max_age), overlap: one.overlap, max_pending: whole(one.max_pending ?? 1),
    jitter: short(one.jitter), max_runs: whole(one.max_runs),
    queue: one.queue, tenant: one.tenant, priority: whole(one.priority), timeout: short(one.timeout),
    expires_in: short(one.expires_in), tags: one.tags.join(", "),
    headers: Object.entries(one.headers).map(([name, value]) => `${name}: ${value}`).join("\n"),
    concurrency_key: one.concurrency_key ?? "", max_concurrency: whole(one.max_concurrency),
    ...(one.retry === null ? {} : retryFields(one.retry)),
  };
}

/** Everything that the form says, as the API names it; null is the default. */
export function bodyOf(form: Fields): Record<string, unknown> {
  const text = (value: string): string | null => (value.trim() === "" ? null : value.trim());
  const at = (value: string): string | null => {
    const found = value === "" ? undefined : instantOf(value, zoneOf(form.tz));
    return found === undefined ? null : new Date(found).toISOString();
  };
  const when = form.mode === "cron"
    ? { expression: form.expression.trim(), seconds: form.seconds, both_days: form.both_days, gap: form.gap, fold: form.fold }
    : { every: text(form.every), anchor: at(form.anchor) };
  return {
    ...when,
    tz: text(form.tz), starts_at: at(form.starts_at), ends_at: at(form.ends_at),
    missed: form.missed, grace: text(form.grace), max_catchup: number(form.max_catchup), max_age: text(form.max_age),
    overlap: form.overlap === "queue" ? `queue(${form.max_pending.trim()})` : text(form.overlap),
    jitter: text(form.jitter), max_runs: number(form.max_runs),
    queue: text(form.queue), tenant: text(form.tenant), priority: number(form.priority), timeout: text(form.timeout),
    retry: form.retry ? retryOf(form) : null, expires_in: text(form.expires_in),
    tags: form.tags.split(",").map((tag) => tag.trim()).filter((tag) => tag !== ""),
    headers: headersOf(form.headers),
    concurrency_key: text(form.concurrency_key), max_concurrency: number(form.max_concurrency),
  };
}

/** Of everything that the form says, what is another than in `base`. */
export function changes(form: Fields, base: Fields): Record<string, unknown> {
  const before = bodyOf(base);
  return Object.fromEntries(
    Object.entries(bodyOf(form)).filter(([name, value]) => JSON.stringify(value) !== JSON.stringify(before[name])),
  );
}

/** What to look ahead of: the rule, and what may be refused together with it. */
export function ruleOf(form: Fields): Record<string, unknown> {
  const said = Object.entries(bodyOf(form)).filter(([name, value]) => [...RULE, ...POLICY].includes(name) && value !== null);
  return Object.fromEntries(said);
}

/** A body as it is sent, with the payload as it was typed. */
export function written(body: Record<string, unknown>, payload: string | undefined): string {
  if (payload === undefined) return JSON.stringify(body);
  const rest = JSON.stringify(body).slice(1, -1);
  return `{${rest}${rest === "" ? "" : ","}"payload":${payload}}`;
}

/** What is wrong with a payload by its line, or undefined. */
export function payloadFault(text: string): string | undefined {
  try {
    return parse(text).kind === "object" ? undefined : "line 1: a payload is an object, {…}";
  } catch (error) {
    return (error as Error).message;
  }
}

export interface Merged {
  readonly fields: Fields;
  /** What both changed, each in another way. */
  readonly both: readonly FieldName[];
  /** What only the other one changed; it is taken over. */
  readonly taken: readonly FieldName[];
}

/** The form after somebody else changed the schedule: nothing that was typed is lost. */
export function merged(mine: Fields, base: Fields, theirs: Fields): Merged {
  const names = Object.keys(BLANK) as FieldName[];
  const changed = names.filter((name) => theirs[name] !== base[name] && theirs[name] !== mine[name]);
  const taken = changed.filter((name) => mine[name] === base[name]);
  const fields = { ...mine, ...Object.fromEntries(taken.map((name) => [name, theirs[name]])) } as Fields;
  return { fields, taken, both: changed.filter((name) => mine[name] !== base[name]) };
}

function retryFields(retry: NonNullable<Schedule["retry"]>): Partial<Fields> {
  return {
    retry: true, retry_type: retry.type, retry_base: String(retry.base), retry_multiplier: String(retry.multiplier),
    retry_cap: String(retry.cap), retry_jitter: String(retry.jitter), retry_max_attempts: String(retry.max_attempts),
  };
}

function retryOf(form: Fields): Record<string, unknown> {
  return {
    type: form.retry_type, base: number(form.retry_base), multiplier: number(form.retry_multiplier),
    cap: number(form.retry_cap), jitter: number(form.retry_jitter), max_attempts: number(form.retry_max_attempts),
  };
}

function headersOf(text: string): Record<string, string> {
  const lines = text.split("\n").map((line) => line.trim()).filter((line) => line !== "");
  return Object.fromEntries(
    lines.map((line) => {
      const at = line.indexOf(":");
      return at < 0 ? [line, ""] : [line.slice(0, at).trim(), line.slice(at + 1).trim()];
    }),
  );
}

/** A number, or the text itself, which the server then refuses by its field. */
function number(text: string): number | string | null {
  if (text.trim() === "") return null;
  const value = Number(text);
  return Number.isFinite(value) ? value : text.trim();
}

function zoneOf(tz: string): string {
  return known(tz) ? tz : "UTC";
}

function trimmed(text: string): string {
  return text.endsWith(":00") ? text.slice(0, 16) : text;
}
