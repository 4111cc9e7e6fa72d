/** What the audit record can be narrowed by, and what is in it. */

export const FILTERS = ["key", "action", "tenant", "via", "outcome", "from", "to"] as const;

export const VIAS: readonly (readonly [string, string])[] = [
  ["key", "a key"],
  ["session", "the dashboard"],
  ["cli", "the command line"],
  ["code", "a one-time code"],
];

export const OUTCOMES = ["ok", "refused", "failed"] as const;

/** Every action that is written down, for the field's proposals. */
export const ACTIONS: readonly string[] = [
  ["action", "start stop"],
  ["alert", "silence"],
  ["alert_rule", "create update delete silence"],
  ["dead_letter", "replay discard restore update"],
  ["key", "create revoke"],
  ["kind", "pause resume"],
  ["limit", "create update delete"],
  ["login", "create end"],
  ["queue", "pause resume update reset"],
  ["schedule", "create update delete pause resume run_now backfill"],
  ["session", "open close drain claim finish progress"],
  ["task", "submit update cancel retry delete"],
  ["tenant", "pause resume update reset"],
  ["webhook", "create update delete rotate test"],
].flatMap(([noun = "", verbs = ""]) => verbs.split(" ").map((verb) => `${noun}.${verb}`));
