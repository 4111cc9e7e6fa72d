/** Entries of the audit record as they are shown: what was changed, and where it can be seen. Pure. */

export interface Change {
  readonly name: string;
  /** As it was before, where that is known. */
  readonly before: string | undefined;
  readonly after: string;
}

const PAGES: Readonly<Record<string, (target: string) => string>> = {
  task: (id) => `/tasks/${id}`,
  dead_letter: (id) => `/tasks/${id}`,
  schedule: (id) => `/schedules/${id}`,
  queue: (name) => `/queues/${name}`,
  tenant: (name) => `/tenants/${name}`,
  kind: (name) => `/tasks?state=all&kind=${name}`,
  session: (id) => `/workers/${id}`,
  action: (id) => `/operations/${id}`,
  alert: (id) => `/alerts/${id}`,
  alert_rule: (name) => `/access/alerts?rule=${name}`,
  webhook: () => "/access/alerts",
  limit: () => "/limits",
  key: () => "/access/keys?show=all",
};

const MADE = new Set(["create", "submit", "open", "start", "backfill", "run_now"]);

/** The page of what an entry is about, or undefined if it is about many things or has no page. */
export function pageOf(action: string, target: string | null): string | undefined {
  if (target === null || target === "" || /^[[{]/.test(target)) return undefined;
  const noun = action.split(".")[0] ?? "";
  return Object.hasOwn(PAGES, noun) ? PAGES[noun]?.(encodeURIComponent(target)) : undefined;
}

/** What was changed, field by field; what was made has no before. */
export function changes(action: string, change: Readonly<Record<string, unknown>> | null): Change[] {
  // A list of two is a change from one to the other, but in something new it is a list; and what was
  // not said of something new says nothing.
  const made = MADE.has(action.split(".")[1] ?? "");
  const entries = Object.entries(change ?? {}).filter(([, value]) => !made || (value !== null && value !== ""));
  return entries.map(([name, value]) => {
    const pair = !made && Array.isArray(value) && value.length === 2;
    return {
      name,
      before: pair ? told((value as unknown[])[0]) : undefined,
      after: told(pair ? (value as unknown[])[1] : value),
    };
  });
}

function told(value: unknown): string {
  if (value === null) return "none";
  return typeof value === "string" ? value : JSON.stringify(value);
}
