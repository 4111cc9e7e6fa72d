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

/** A value for every step between two instants (milliseconds); a step without a point is zero. */
export function series(points: readonly Point[], from: number, to: number, step: number): Series {
  const known = new Map(points.map((point) => [Math.floor(Date.parse(point.at) / 1000), point]));
  const found: Series = { times: [], arriving: [], leaving: [], failing: [], late50: [], late99: [] };
  const first = Math.ceil(from / 1000 / step) * step;
  for (let at = first; at * 1000 <= to; at += step) {
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

const RANGES: Readonly<Record<string, number>> = { "15m": 900, "1h": 3600, "6h": 21_600, "1d": 86_400, "7d": 604_800 };
export const RANGE_NAMES = Object.keys(RANGES);

/** The instants (milliseconds) that an address shows: a range up to now, or fixed ones. */
export function span(query: URLSearchParams, now: number): { from: number; to: number; fixed: boolean } {
  const from = Date.parse(query.get("from") ?? "");
  const to = Date.parse(query.get("to") ?? "");
  if (Number.isFinite(from) && Number.isFinite(to) && to > from) return { from, to, fixed: true };
  const seconds = RANGES[query.get("range") ?? "1h"] ?? 3600;
  return { from: now - seconds * 1000, to: now, fixed: false };
}

/** A step in seconds that makes at most `most` points of a span, whole minutes. */
export function stepOf(from: number, to: number, most = 180): number {
  const minutes = (to - from) / 60_000;
  const step = [1, 2, 5, 10, 15, 30, 60, 120, 360].find((one) => minutes / one <= most) ?? 1440;
  return step * 60;
}
