/** The roles of keys, each in a sentence (R8.5). */

import type { Role } from "../../data/me.svelte";

export const ROLES: readonly (readonly [Role, string])[] = [
  ["submit", "Makes tasks, and reads and cancels those whose ids it knows."],
  ["read", "Reads everything but keys, the audit record and webhooks."],
  ["operate", "Reads, and changes what runs: cancel, retry, pause, replay, silence."],
  ["admin", "Everything but the work of workers: also limits, rules, keys, deleting."],
  ["worker", "The workers' protocol and nothing else."],
];

/** How long a new key may be good, as the API takes it. */
export const TERMS: readonly (readonly [string, string])[] = [
  ["30d", "in 30 days"],
  ["90d", "in 90 days"],
  ["365d", "in a year"],
  ["", "never"],
  ["at", "at a time…"],
];
