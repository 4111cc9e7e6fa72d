/** A look at a part of a timeline: as the address has it, and what of the spans lies within. Pure. */

import type { Span } from "./timeline";

export interface Zoom {
  readonly from: number;
  readonly to: number;
}

/** Shorter than that there is nothing to tell apart, in milliseconds. */
const LEAST = 2;

/** The part that an address names: "from..to" in UTC. */
export function zoomOf(text: string | undefined): Zoom | undefined {
  const [first = "", last = ""] = text?.split("..") ?? [];
  const from = Date.parse(first);
  const to = Date.parse(last);
  return to - from >= LEAST ? { from, to } : undefined;
}

/** A part as the address has it. */
export function zoomText({ from, to }: Zoom): string {
  return `${new Date(from).toISOString()}..${new Date(to).toISOString()}`;
}

/** What lies within a part; a mark at an end that is outside is left out, and nothing is folded. */
export function within(spans: readonly Span[], zoom: Zoom | undefined): Span[] {
  if (zoom === undefined) return [...spans];
  return spans
    .filter((span) => span.to > zoom.from && span.from < zoom.to)
    .map(({ end, ...span }) => ({
      ...span,
      from: Math.max(span.from, zoom.from),
      to: Math.min(span.to, zoom.to),
      idle: false,
      ...(end !== undefined && span.to <= zoom.to ? { end } : {}),
    }));
}

/** The part in which it was tried; undefined if that is all of it, or nothing. */
export function attempts(spans: readonly Span[]): Zoom | undefined {
  const tried = spans.filter((span) => span.doing === "running" || span.end === "failed");
  const from = tried[0]?.from;
  const to = tried.at(-1)?.to;
  if (from === undefined || to === undefined || to - from < LEAST) return undefined;
  const room = (to - from) / 20;
  return { from: from - room, to: to + room };
}
