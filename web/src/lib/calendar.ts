/** A month as weeks from Monday on, and what lies on which of its days. Pure. */

export interface Day {
  /** "2027-03-28". */
  readonly key: string;
  readonly number: number;
  /** Whether it belongs to the month, and not to the week only. */
  readonly inside: boolean;
}

/** A firing as the server tells it. */
export interface Firing {
  readonly utc: string;
  /** With the offset of the schedule's zone. */
  readonly local: string;
  readonly notes: readonly string[];
}

export const WEEKDAYS = ["Mo", "Tu", "We", "Th", "Fr", "Sa", "Su"] as const;
const DAY = 86_400_000;

/** Whether a text is a month: "2027-03". */
export function isMonth(text: string | undefined): text is string {
  return text !== undefined && /^\d{4}-(0[1-9]|1[0-2])$/.test(text);
}

/** The month some months after another one. */
export function shifted(month: string, by: number): string {
  const whole = Number(month.slice(0, 4)) * 12 + Number(month.slice(5)) - 1 + by;
  return `${String(Math.floor(whole / 12)).padStart(4, "0")}-${String((whole % 12) + 1).padStart(2, "0")}`;
}

/** A month as people say it: "March 2027". */
export function monthName(month: string): string {
  return new Intl.DateTimeFormat("en-GB", { month: "long", year: "numeric", timeZone: "UTC" }).format(
    Date.parse(`${month}-01T00:00:00Z`),
  );
}

/** The weeks of a month, each of seven days from Monday on. */
export function weeks(month: string): Day[][] {
  const first = Date.parse(`${month}-01T00:00:00Z`);
  const past = Date.parse(`${shifted(month, 1)}-01T00:00:00Z`);
  const lead = (new Date(first).getUTCDay() + 6) % 7;
  const found: Day[][] = [];
  for (let at = first - lead * DAY; at < past; at += 7 * DAY) {
    found.push(
      Array.from({ length: 7 }, (_, n) => {
        const day = new Date(at + n * DAY);
        const key = day.toISOString().slice(0, 10);
        return { key, number: day.getUTCDate(), inside: key.startsWith(month) };
      }),
    );
  }
  return found;
}

/** The day on which a firing lies, in the schedule's zone or in UTC. */
export function dayOf(firing: Firing, zone: "local" | "utc"): string {
  return (zone === "utc" ? firing.utc : firing.local).slice(0, 10);
}

/** The time of day of a firing, with seconds only where there are some. */
export function timeOf(firing: Firing, zone: "local" | "utc"): string {
  const text = (zone === "utc" ? firing.utc : firing.local).slice(11, 19);
  return text.endsWith(":00") ? text.slice(0, 5) : text;
}

/** The offset that a firing's local time has: "+02:00". */
export function offsetOf(firing: Firing): string {
  return /(?:Z|[+-]\d\d:\d\d(?::\d\d)?)$/.exec(firing.local)?.[0] ?? "";
}

/** Firings by their days. */
export function byDay<T extends Firing>(firings: readonly T[], zone: "local" | "utc"): Map<string, T[]> {
  const found = new Map<string, T[]>();
  for (const firing of firings) {
    const key = dayOf(firing, zone);
    const there = found.get(key);
    if (there === undefined) found.set(key, [firing]);
    else there.push(firing);
  }
  return found;
}
