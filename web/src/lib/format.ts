/** Numbers, durations and instants as people read them. Pure; the page's clock is handed in. */

const GROUPED = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const SCALES: readonly (readonly [number, string])[] = [
  [1e12, " T"],
  [1e9, " G"],
  [1e6, " M"],
  [1e3, " k"],
];

/** A count: exact with grouping to 99,999, then three digits. */
export function count(value: number): string {
  if (Math.abs(value) < 100_000) return GROUPED.format(value);
  for (const [scale, unit] of SCALES) {
    if (Math.abs(value) >= scale) return threeDigits(value / scale) + unit;
  }
  return GROUPED.format(value);
}

/** A count with every digit, for the title and for screen readers. */
export function exact(value: number): string {
  return GROUPED.format(value);
}

/** A rate a second, in three digits at most. */
export function rate(value: number): string {
  if (value === 0) return "0";
  if (value < 0.1) return value < 0.01 ? "<0.01" : value.toFixed(2);
  return value < 100 ? threeDigits(value) : count(Math.round(value));
}

/** Parts of one as a percentage; never "0 %" for something. */
export function percent(part: number): string {
  const value = part * 100;
  if (value === 0) return "0 %";
  if (value < 0.1) return "<0.1 %";
  return `${value < 10 ? value.toFixed(1) : Math.round(value)} %`;
}

/** A duration in seconds with two units at most, never negative. */
export function duration(seconds: number): string {
  const s = Math.max(0, seconds);
  if (s < 0.0005) return "0 s";
  if (s < 0.9995) return `${Math.max(1, Math.round(s * 1000))} ms`;
  if (s < 59.95) return `${s < 9.95 ? s.toFixed(1) : Math.round(s)} s`;
  const whole = Math.round(s);
  if (whole < 3600) return two(whole, 60, "min", 1, "s");
  if (whole < 86_400) return two(whole, 3600, "h", 60, "min");
  return two(whole, 86_400, "d", 3600, "h");
}

function two(value: number, large: number, unit: string, small: number, rest: string): string {
  const left = Math.floor((value % large) / small);
  return left === 0
    ? `${Math.floor(value / large)} ${unit}`
    : `${Math.floor(value / large)} ${unit} ${String(left).padStart(2, "0")} ${rest}`;
}

/** Milliseconds since 1970 of an instant as the server writes it. */
export function instant(text: string): number {
  return Date.parse(text);
}

/**
 * An instant as short as the distance allows: today the time, this year the day, else the year;
 * a fine one to the millisecond.
 */
export function moment(at: number, now: number, zone?: string, fine = false): string {
  const options = zone === undefined ? {} : { timeZone: zone };
  const day = new Intl.DateTimeFormat("en-CA", { ...options, dateStyle: "short" });
  const time = new Intl.DateTimeFormat("en-GB", {
    ...options,
    hour: "2-digit",
    minute: "2-digit",
    ...(fine || day.format(at) === day.format(now) ? { second: "2-digit" } : {}),
    ...(fine ? { fractionalSecondDigits: 3 } : {}),
  }).format(at);
  if (day.format(at) === day.format(now)) return time;
  const sameYear = day.format(at).slice(0, 4) === day.format(now).slice(0, 4);
  const date = new Intl.DateTimeFormat("en-GB", {
    ...options,
    day: "numeric",
    month: "short",
    ...(sameYear ? {} : { year: "numeric" }),
  }).format(at);
  return `${date} ${time}`;
}

/** How far away an instant is: "in 14 s", "3 min 05 s ago". */
export function distance(at: number, now: number): string {
  const seconds = (at - now) / 1000;
  if (Math.abs(seconds) < 0.5) return "now";
  return seconds > 0 ? `in ${duration(seconds)}` : `${duration(-seconds)} ago`;
}

/** An instant with offset and UTC, for whoever hovers over the short one. */
export function inFull(at: number, zone?: string): string {
  const options = zone === undefined ? {} : { timeZone: zone };
  const local = new Intl.DateTimeFormat("en-GB", {
    ...options,
    dateStyle: "medium",
    timeStyle: "medium",
  }).format(at);
  const offset = new Intl.DateTimeFormat("en", { ...options, timeZoneName: "longOffset" })
    .formatToParts(at)
    .find((part) => part.type === "timeZoneName")?.value.replace("GMT", "UTC");
  return `${local} ${offset ?? ""} · ${utc(at)}`;
}

/** An instant in UTC as ISO 8601. */
export function utc(at: number): string {
  return new Date(at).toISOString();
}

/** A long name cut in the middle, so that both ends can be told apart. */
export function cut(text: string, most = 64): string {
  if (text.length <= most) return text;
  const half = Math.floor((most - 1) / 2);
  return `${text.slice(0, half)}…${text.slice(-half)}`;
}

/** An id as a list shows it. */
export function shortId(id: string): string {
  return id.length > 13 ? `${id.slice(0, 8)}…${id.slice(-4)}` : id;
}

// Control characters and those that turn the direction of writing, but no line breaks and tabs.
const UNSEEN = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/g;

/** A text with its control and direction characters made visible. */
export function visible(text: string): string {
  return text.replace(UNSEEN, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** Words for a number of things: "1 task", "2 tasks". */
export function plural(value: number, one: string, many = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : many}`;
}

function threeDigits(value: number): string {
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  return value.toFixed(digits).replace(/\.0+$/, "");
}
