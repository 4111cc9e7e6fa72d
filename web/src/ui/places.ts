/** Where the bar leads, and which pages belong to each place. */

import { attention } from "../data/attention.svelte";
import { session } from "../data/me.svelte";
import type { PageName } from "../url/routes";

export interface Place {
  readonly text: string;
  readonly address: string;
  readonly icon: string;
  readonly pages: readonly PageName[];
  /** Shown beside the name: only what is over its threshold. */
  readonly number?: number | undefined;
}

/** The places that this key may see. */
export function places(): Place[] {
  if (!session.may("read")) return [];
  const found: Place[] = [
    { text: "Overview", address: "/", icon: "overview", pages: ["overview", "queue"] },
    { text: "Tasks", address: "/tasks", icon: "tasks", pages: ["tasks", "task", "operation"] },
    { text: "Schedules", address: "/schedules", icon: "scheduled", pages: ["schedules", "schedule", "schedule-edit"] },
    { text: "Dead letters", address: "/dead-letters", icon: "letters", pages: ["dead-letters", "dead-letter-group"], number: attention.deadLetters },
    { text: "Tenants", address: "/tenants", icon: "tenants", pages: ["tenants", "tenant", "limits"] },
  ];
  if (!session.me?.tenant) found.push({ text: "Workers", address: "/workers", icon: "workers", pages: ["workers", "worker"] });
  found.push({ text: "Access", address: session.may("admin") ? "/access/keys" : "/access/alerts", icon: "access", pages: ["keys", "audit", "alerts"] });
  return found;
}
