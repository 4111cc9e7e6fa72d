/** Statistics by steps of time, as charts want them. Pure. */

export interface Point {
  readonly at: string;
  readonly queue: string | null;
  readonly submitted: number;
  readonly completed: number;
  readonly failed: number;
  readonly cancelled: number;
  readonly lateness: { readonly p50_s: number | null; readonly p99_s: number | null };
}

export interface Series {
  /** Seconds since 1970, one a step. */
  readonly times: number[];
  readonly arriving: (number | null)[];
  readonly leaving: (number | null)[];
  readonly failing: (number | null)[];
  readonly late50: (number | null)[];
  readonly late99: (number | null)[];
}

const NOTHING = { submitted: 0, completed: 0, failed: 0, cancelled: 0, lateness: { p50_s: null, p99_s: null } };

/** Where the steps between two instants (milliseconds) begin, in seconds since 1970. */
export function steps(from: number, to: number, step: number): number[] {
  const first = Math.ceil(from / 1000 / step) * step;
  const found: number[] = [];
  for (let at = first; at * 1000 <= to; at += step) found.push(at);
  return found;
}

/** A value for every step between two instants (milliseconds); a step without a point is zero. */
export function series(points: readonly Point[], from: number, to: number, step: number): Series {
  const known = new Map(points.map((point) => [Math.floor(Date.parse(point.at) / 1000), point]));
  const found: Series = { times: [], arriving: [], leaving: [], failing: [], late50: [], late99: [] };
  for (const at of steps(from, to, step)) {
    const point = known.get(at) ?? NOTHING;
    // The last step is not over: its rate counts what has passed of it.
    const seconds = Math.max(1, Math.min(step, to / 1000 - at));
    found.times.push(at);
    found.arriving.push(point.submitted / seconds);
    found.leaving.push((point.completed + point.failed + point.cancelled) / seconds);
    found.failing.push(point.failed / seconds);
    found.late50.push(point.lateness.p50_s);
    found.late99.push(point.lateness.p99_s);
  }
  return found;
}

export const RANGES: readonly { readonly name: string; readonly text: string; readonly seconds: number }[] = [
  { name: "15m", text: "Last 15 min", seconds: 900 },
  { name: "1h", text: "Last hour", seconds: 3600 },
  { name: "6h", text: "Last 6 h", seconds: 21_600 },
  { name: "1d", text: "Last day", seconds: 86_400 },
  { name: "7d", text: "Last 7 days", seconds: 604_800 },
];

/** The instants (milliseconds) that an address shows: a range up to now, or fixed ones. */
export function span(query: URLSearchParams, now: number): { from: number; to: number; fixed: boolean } {
  const from = Date.parse(query.get("from") ?? "");
  const to = Date.parse(query.get("to") ?? "");
  if (Number.isFinite(from) && Number.isFinite(to) && to > from) return { from, to, fixed: true };
  const seconds = RANGES.find((range) => range.name === query.get("range"))?.seconds ?? 3600;
  return { from: now - seconds * 1000, to: now, fixed: false };
}

/** The address with the times that are shown now, for whoever looks later. */
export function frozen(address: string, now: number): string {
  const url = new URL(address);
  const { from, to } = span(url.searchParams, now);
  url.searchParams.delete("range");
  url.searchParams.set("from", new Date(from).toISOString());
  url.searchParams.set("to", new Date(to).toISOString());
  return url.href;
}

/** A step in seconds that makes at most `most` points of a span, whole minutes. */
export function stepOf(from: number, to: number, most = 180): number {
  const minutes = (to - from) / 60_000;
  const step = [1, 2, 5, 10, 15, 30, 60, 120, 360].find((one) => minutes / one <= most) ?? 1440;
  return step * 60;
}
