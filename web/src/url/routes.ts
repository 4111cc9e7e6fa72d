/** Which page an address is for. */

export type PageName =
  | "overview" | "queue" | "tasks" | "task" | "schedules" | "schedule" | "schedule-edit"
  | "dead-letters" | "dead-letter-group" | "tenants" | "tenant" | "limits" | "workers" | "worker"
  | "operation" | "keys" | "audit" | "alerts" | "login" | "missing";

export interface Match {
  readonly page: PageName;
  readonly values: Readonly<Record<string, string>>;
}

const ROUTES: readonly (readonly [string, PageName])[] = [
  ["/", "overview"],
  ["/queues/:queue", "queue"],
  ["/tasks", "tasks"],
  ["/tasks/:id", "task"],
  ["/schedules", "schedules"],
  ["/schedules/new", "schedule-edit"],
  ["/schedules/:id", "schedule"],
  ["/schedules/:id/edit", "schedule-edit"],
  ["/dead-letters", "dead-letters"],
  ["/dead-letters/:group", "dead-letter-group"],
  ["/tenants", "tenants"],
  ["/tenants/:tenant", "tenant"],
  ["/limits", "limits"],
  ["/workers", "workers"],
  ["/workers/:session", "worker"],
  ["/operations/:id", "operation"],
  ["/access/keys", "keys"],
  ["/access/audit", "audit"],
  ["/access/alerts", "alerts"],
  ["/alerts/:id", "alerts"],
  ["/login", "login"],
];

/** The page of a path, with the values in it. */
export function match(path: string): Match {
  const parts = split(path);
  for (const [pattern, page] of ROUTES) {
    const wanted = split(pattern);
    if (wanted.length !== parts.length) continue;
    const values: Record<string, string> = {};
    const fits = wanted.every((part, n) => {
      const given = parts[n] ?? "";
      if (!part.startsWith(":")) return part === given;
      const value = decoded(given);
      if (value === undefined || value === "") return false;
      values[part.slice(1)] = value;
      return true;
    });
    if (fits) return { page, values };
  }
  return { page: "missing", values: {} };
}

/** An address with names percent-encoded whole, and without parameters that are not set. */
export function to(path: string, query: Record<string, string | undefined> = {}): string {
  const given = Object.entries(query).filter((one): one is [string, string] => one[1] !== undefined);
  const text = new URLSearchParams(given).toString();
  return text === "" ? path : `${path}?${text}`;
}

function split(path: string): string[] {
  return path.split("/").filter((part) => part !== "");
}

function decoded(part: string): string | undefined {
  try {
    return decodeURIComponent(part);
  } catch {
    return undefined;
  }
}
