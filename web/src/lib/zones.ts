/**
 * Local times of a zone and the instants that they are, by the browser's own zone data. Pure.
 *
 * What fires and when is always the server's word; this says how long a day is and how clocks change.
 */

export interface Change {
  /** The first instant of the new offset, in milliseconds since 1970. */
  readonly at: number;
  /** Offsets from UTC before and after, in milliseconds. */
  readonly before: number;
  readonly after: number;
}

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const formats = new Map<string, Intl.DateTimeFormat>();

/** The zone of this browser. */
export function here(): string {
  return Intl.DateTimeFormat().resolvedOptions().timeZone;
}

/** Whether this browser knows a zone. */
export function known(zone: string): boolean {
  try {
    format(zone);
    return true;
  } catch {
    return false;
  }
}

/** Whether two names stand for the same zone here. */
export function same(one: string, other: string): boolean {
  return one === other || (known(one) && known(other) && resolved(one) === resolved(other));
}

/** How far a zone's clocks are ahead of UTC at an instant, in milliseconds. */
export function offset(at: number, zone: string): number {
  const parts: Record<string, number> = {};
  for (const { type, value } of format(zone).formatToParts(at)) {
    if (type !== "literal") parts[type] = Number(value);
  }
  const shown = Date.UTC(
    parts.year ?? 0, (parts.month ?? 1) - 1, parts.day ?? 1, parts.hour ?? 0, parts.minute ?? 0, parts.second ?? 0,
  );
  return shown - Math.floor(at / 1000) * 1000;
}

/** What a zone's clocks show at an instant: "2027-03-28T03:00:00". */
export function local(at: number, zone: string): string {
  return new Date(at + offset(at, zone)).toISOString().slice(0, 19);
}

/** The instants at which a zone's clocks show a local time: none in a gap, two in a fold. */
export function instants(text: string, zone: string): number[] {
  const shown = Date.parse(`${text.length === 16 ? `${text}:00` : text}Z`);
  if (Number.isNaN(shown)) return [];
  const offsets = new Set([shown - DAY, shown + DAY].map((at) => offset(at, zone)));
  const found = [...offsets].map((one) => shown - one).filter((at) => at + offset(at, zone) === shown);
  return found.sort((a, b) => a - b);
}

/** The instant of a local time; in a gap the first one after it, in a fold the first of the two. */
export function instantOf(text: string, zone: string): number | undefined {
  const [first] = instants(text, zone);
  if (first !== undefined) return first;
  const shown = Date.parse(`${text.length === 16 ? `${text}:00` : text}Z`);
  return Number.isNaN(shown) ? undefined : change(shown - DAY, shown + DAY, zone)?.at;
}

/** The first instant of a day ("2027-03-28") in a zone. */
export function dayStart(day: string, zone: string): number {
  return instantOf(`${day}T00:00:00`, zone) ?? Date.parse(`${day}T00:00:00Z`);
}

/** How the clocks change in a day, if they do, and how many hours that day has. */
export function dayOf(day: string, zone: string): { hours: number; change: Change | undefined } {
  const from = dayStart(day, zone);
  const to = dayStart(next(day), zone);
  return { hours: (to - from) / HOUR, change: change(from, to, zone) };
}

/** The change of the clocks between two instants, if there is one. */
export function change(from: number, to: number, zone: string): Change | undefined {
  const before = offset(from, zone);
  const after = offset(to, zone);
  if (before === after) return undefined;
  let early = Math.floor(from / 1000);
  let late = Math.ceil(to / 1000);
  while (late - early > 1) {
    const middle = Math.floor((early + late) / 2);
    if (offset(middle * 1000, zone) === before) early = middle;
    else late = middle;
  }
  return { at: late * 1000, before, after };
}

/** A change in words: "clocks go from 02:00 to 03:00". */
export function said(one: Change): string {
  const time = (ahead: number): string => new Date(one.at + ahead).toISOString().slice(11, 16);
  return `clocks go ${one.after > one.before ? "forward" : "back"} from ${time(one.before)} to ${time(one.after)}`;
}

/** An offset as people write it: "+02:00". */
export function ahead(offsetMs: number): string {
  const minutes = Math.abs(Math.round(offsetMs / 60_000));
  const two = (value: number): string => String(value).padStart(2, "0");
  return `${offsetMs < 0 ? "−" : "+"}${two(Math.floor(minutes / 60))}:${two(minutes % 60)}`;
}

/** The day after one. */
export function next(day: string): string {
  return new Date(Date.parse(`${day}T00:00:00Z`) + DAY).toISOString().slice(0, 10);
}

function resolved(zone: string): string {
  return format(zone).resolvedOptions().timeZone;
}

function format(zone: string): Intl.DateTimeFormat {
  let found = formats.get(zone);
  if (found === undefined) {
    found = new Intl.DateTimeFormat("en-US", {
      timeZone: zone, hourCycle: "h23", year: "numeric", month: "numeric", day: "numeric",
      hour: "numeric", minute: "numeric", second: "numeric",
    });
    formats.set(zone, found);
  }
  return found;
}
