/** Filters of tasks as the address has them: read, written, and said in words. Pure. */

export const FILTERS = [
  "queue", "kind", "tenant", "tag", "schedule", "session", "error_type", "error_group", "key",
  "concurrency_key", "q", "created_from", "created_to", "run_from", "run_to", "finished_from",
  "finished_to",
] as const;
export type FilterName = (typeof FILTERS)[number];

export const STATES = ["scheduled", "ready", "running", "completed", "cancelled", "failed"] as const;
export const OPEN = "scheduled,ready,running";

export interface Chosen {
  /** "open", "all" or one state. */
  readonly state: string;
  readonly values: Readonly<Partial<Record<FilterName, string>>>;
  /** What is at which path of the payload. */
  readonly payload: Readonly<Record<string, string>>;
}

const PAYLOAD = "payload.";
/** What the command line calls those that it has. */
const FLAGS: Partial<Record<FilterName, string>> = {
  queue: "--queue", kind: "--kind", tenant: "--tenant", tag: "--tag", schedule: "--schedule", key: "--key",
  error_type: "--error", error_group: "--group", created_from: "--created-from", created_to: "--created-to",
};
/** What people call those whose names are not words. */
const NAMES: Partial<Record<string, string>> = {
  session: "worker", error_type: "error", error_group: "error group", concurrency_key: "gate",
  q: "id or key begins", created_from: "submitted from", created_to: "submitted before", run_from: "due from",
  run_to: "due before", finished_from: "finished from", finished_to: "finished before",
};
/** Parameters of the list's address that are no filters. */
const OTHERS: readonly string[] = ["state", "cursor", "cols", "order"];

/** Digits that a number of this language would not keep: they are sent as they were typed. */
export class Digits {
  constructor(readonly text: string) {}
}

/** The filters of an address. */
export function read(query: URLSearchParams): Chosen {
  const values: Partial<Record<FilterName, string>> = {};
  for (const name of FILTERS) {
    const value = query.get(name);
    // An empty tenant is one: that of tasks without any.
    if (value !== null && (value !== "" || name === "tenant")) values[name] = value;
  }
  const payload: Record<string, string> = {};
  for (const [name, value] of query) {
    if (name.startsWith(PAYLOAD)) payload[name.slice(PAYLOAD.length)] = value;
  }
  return { state: query.get("state") ?? "open", values, payload };
}

/** What the API is asked with; `state` in the place of the one in the address. */
export function asked(chosen: Chosen, state = chosen.state): Record<string, unknown> {
  const states = state === "open" ? { state: OPEN } : state === "all" ? {} : { state };
  const payload = Object.keys(chosen.payload).length > 0 ? { payload: chosen.payload } : {};
  return { ...states, ...chosen.values, ...payload };
}

/** An order that an index gives, and what it is called. */
export interface Order {
  readonly order: string;
  readonly words: string;
}

/** The order that all tasks have. */
export const NEWEST: Order = { order: "-created", words: "newest first" };

/**
 * In which order these tasks are listed: that of the line that they stand in, where there is one.
 * `tenant` is that of the key, which then need not be in the address.
 */
export function order({ state, values }: Chosen, tenant?: string): Order {
  if (state === "ready" && values.queue !== undefined && (values.tenant ?? tenant) !== undefined) {
    return { order: "rank", words: "next in the lane first" };
  }
  if (state === "scheduled" && values.concurrency_key === undefined) {
    return { order: "run_at", words: "due first, without what waits at a gate" };
  }
  if (state === "running") return { order: "started_at", words: "longest running first" };
  if (state === "failed") return { order: "-finished_at", words: "failed last first" };
  return NEWEST;
}

/** The filter of a bulk action: everything has to be said. */
export function where(chosen: Chosen): Record<string, unknown> {
  const { payload, ...rest } = asked(chosen) as Record<string, unknown> & { payload?: object };
  const filter: Record<string, unknown> = { ...rest };
  if (typeof filter.state === "string") filter.state = filter.state.split(",");
  if (payload !== undefined) {
    filter.payload = Object.fromEntries(
      Object.entries(payload as Record<string, string>).map(([path, value]) => [path, scalar(value)]),
    );
  }
  return Object.keys(filter).length === 0 ? { all: true } : filter;
}

/** How many filters there are besides the state. */
export function size(chosen: Chosen): number {
  return Object.keys(chosen.values).length + Object.keys(chosen.payload).length;
}

/** What the address has besides, which nobody here knows: it is kept, and said. */
export function unknown(query: URLSearchParams): string[] {
  const known = new Set<string>([...FILTERS, ...OTHERS]);
  return [...new Set(query.keys())].filter((name) => !known.has(name) && !name.startsWith(PAYLOAD));
}

/** JSON with every digit of the numbers that were typed. */
export function written(body: unknown): string {
  const kept: string[] = [];
  const text = JSON.stringify(body, (_, value: unknown) => (value instanceof Digits ? `\u0000${kept.push(value.text) - 1}` : value));
  return text.replace(/"\\u0000(\d+)"/g, (_, n: string) => kept[Number(n)] ?? "null");
}

/** The same filter for the command line; undefined if that cannot say it. */
export function command(chosen: Chosen): string | undefined {
  if (Object.keys(chosen.payload).length > 0) return undefined;
  const words = ["rota", "list"];
  for (const state of chosen.state === "open" ? OPEN.split(",") : chosen.state === "all" ? [] : [chosen.state]) {
    words.push("--state", state);
  }
  for (const [name, value] of Object.entries(chosen.values)) {
    const flag = FLAGS[name as FilterName];
    if (flag === undefined) return undefined;
    words.push(flag, quoted(value));
  }
  return words.join(" ");
}

/** What a filter is called. */
export function named(name: string): string {
  return NAMES[name] ?? name.replaceAll("_", " ");
}

/** Whether a filter is an instant. */
export function isTime(name: string): boolean {
  return /_(from|to)$/.test(name);
}

/** A filter in words: "queue sms". */
export function said(name: string, value: string): string {
  const shown = value === "" ? "(none)" : value;
  return `${named(name)} ${shown}`;
}

function scalar(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "number" && String(value) !== text.trim()) return new Digits(text.trim());
    return value !== null && typeof value === "object" ? text : value;
  } catch {
    return text;
  }
}

/** A word for the shell. */
export function quoted(text: string): string {
  return /^[\w.,:@%+/-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
