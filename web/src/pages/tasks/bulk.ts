/** What can be done with many tasks, and how it is said. */

import { exact } from "../../lib/format";

export type Deed = "cancel" | "retry" | "reprioritise" | "move" | "delete";
export type Target = { readonly ids: string[] } | { readonly filter: Record<string, unknown> };

interface Does {
  readonly do: "cancel" | "retry" | "amend" | "delete";
  readonly verb: string;
  readonly done: string;
  readonly effect: string;
  readonly danger: boolean;
  readonly role: "operate" | "admin";
}

export const DEEDS: Record<Deed, Does> = {
  cancel: {
    do: "cancel", verb: "Cancel", done: "cancelled", danger: true, role: "operate",
    effect: "What has not started will not; what runs is asked to stop.",
  },
  retry: {
    do: "retry", verb: "Retry", done: "made ready", danger: false, role: "operate",
    effect: "What failed or is due later runs as soon as there is room.",
  },
  reprioritise: {
    do: "amend", verb: "Reprioritise", done: "changed", danger: false, role: "operate",
    effect: "Only what waits is changed.",
  },
  move: {
    do: "amend", verb: "Move", done: "moved", danger: false, role: "operate",
    effect: "Only what waits is moved.",
  },
  delete: {
    do: "delete", verb: "Delete", done: "deleted", danger: true, role: "admin",
    effect: "Only what is over is deleted. There is no way back.",
  },
};

/** What became of it, in one sentence. */
export function outcome(
  deed: Deed,
  action: { readonly changed: number; readonly skipped: Readonly<Record<string, number>> },
): string {
  const parts = [`${exact(action.changed)} ${DEEDS[deed].done}`];
  for (const [why, number] of Object.entries(action.skipped)) {
    if (number > 0) parts.push(`${exact(number)} ${why.replaceAll("_", " ")}`);
  }
  return `${parts.join(", ")}.`;
}
