/** Where an instant lies on a timeline that is drawn to scale; long waits before the due time fold. */

export interface Stretch {
  readonly from: number;
  readonly to: number;
  /** Whether it may be folded: only time in which nothing could have happened. */
  readonly idle: boolean;
}

export const FOLDED = 48;

export interface Placed extends Stretch {
  readonly left: number;
  readonly width: number;
  readonly folded: boolean;
}

/** Instants in milliseconds onto pixels, and back. */
export class Scale {
  readonly placed: readonly Placed[];

  constructor(stretches: readonly Stretch[], readonly width: number) {
    const whole = stretches.reduce((sum, s) => sum + (s.to - s.from), 0);
    const folds = stretches.map((s) => s.idle && s.to - s.from > whole / 2 && width > 4 * FOLDED);
    const foldedWidth = folds.filter(Boolean).length * FOLDED;
    const open = stretches.reduce((sum, s, n) => sum + (folds[n] ? 0 : s.to - s.from), 0);
    const perMs = open > 0 ? (width - foldedWidth) / open : 0;
    let left = 0;
    this.placed = stretches.map((stretch, n) => {
      const folded = folds[n] ?? false;
      const wide = folded ? FOLDED : (stretch.to - stretch.from) * perMs;
      const placed = { ...stretch, left, width: wide, folded };
      left += wide;
      return placed;
    });
  }

  /** Pixels from the left of an instant; what lies outside is at the edge. */
  project(at: number): number {
    for (const stretch of this.placed) {
      if (at <= stretch.to) {
        const part = (Math.max(at, stretch.from) - stretch.from) / (stretch.to - stretch.from || 1);
        return stretch.left + part * stretch.width;
      }
    }
    return this.width;
  }

  /** The instant at a pixel. */
  unproject(x: number): number {
    for (const stretch of this.placed) {
      if (x <= stretch.left + stretch.width) {
        const part = stretch.width === 0 ? 0 : (x - stretch.left) / stretch.width;
        return stretch.from + Math.max(0, part) * (stretch.to - stretch.from);
      }
    }
    return this.placed.at(-1)?.to ?? 0;
  }
}

const STEPS = [
  0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 7200, 21_600,
  43_200, 86_400, 604_800,
];

/** An instant on the axis of a stretch: with the day over more than one, with fractions under ten seconds. */
export function tickText(at: number, from: number, to: number): string {
  const time: Intl.DateTimeFormatOptions = { hour: "2-digit", minute: "2-digit" };
  const whole = (to - from) / 1000;
  if (whole > 2 * 86_400) return new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" }).format(at);
  if (whole < 3600) time.second = "2-digit";
  if (whole < 10) time.fractionalSecondDigits = whole < 0.1 ? 3 : whole < 1 ? 2 : 1;
  return new Intl.DateTimeFormat("en-GB", time).format(at);
}

/** Round instants (milliseconds) between two, no more than `most` of them. */
export function ticks(from: number, to: number, most: number): number[] {
  const step = (STEPS.find((s) => (to - from) / (s * 1000) <= most) ?? 2_592_000) * 1000;
  const found: number[] = [];
  for (let at = Math.ceil(from / step) * step; at <= to; at += step) found.push(at);
  return found;
}
