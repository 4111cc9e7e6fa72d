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
const FLAGS: Partial<Record<FilterName, string>> = {
  error_type: "--error-type", error_group: "--group", q: "--id-prefix", created_from: "--created-from",
  created_to: "--created-to", concurrency_key: "--concurrency-key",
};

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

/** The same filter for the command line. */
export function command(chosen: Chosen): string {
  const words = ["rota", "list"];
  for (const state of chosen.state === "open" ? OPEN.split(",") : chosen.state === "all" ? [] : [chosen.state]) {
    words.push("--state", state);
  }
  for (const [name, value] of Object.entries(chosen.values)) {
    words.push(FLAGS[name as FilterName] ?? `--${name}`, quoted(value));
  }
  return words.join(" ");
}

/** A filter in words: "queue sms". */
export function said(name: string, value: string): string {
  const shown = value === "" ? "(none)" : value;
  return `${name.replace("_", " ")} ${shown}`;
}

function scalar(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return value !== null && typeof value === "object" ? text : value;
  } catch {
    return text;
  }
}

function quoted(text: string): string {
  return /^[\w.,:@%+/-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
