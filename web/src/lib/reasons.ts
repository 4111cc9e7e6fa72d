/** Reasons of a task to be where it is: where each is to be seen and changed. Pure. */

import { to } from "../url/routes";
import { moment } from "./format";

/** A reason as the API tells it; which fields there are goes by its code. */
export interface Reason {
  readonly code: string;
  readonly until?: string | null;
  readonly what?: string;
  readonly name?: string;
  readonly queue?: string | null;
  readonly tenant?: string | null;
  readonly key?: string;
  readonly session?: string | null;
}

export interface Lane {
  readonly queue: string;
  readonly tenant: string;
  /** The group of those that failed alike, if it failed. */
  readonly error_group?: string | null;
}

export interface Link {
  readonly text: string;
  readonly address: string;
}

/** The page of a tenant, where its limits are; the one without a name is `-`. */
function tenantAt(name: string): string {
  return `/tenants/${name === "" ? "-" : encodeURIComponent(name)}`;
}

/** Where a reason is to be seen or changed. */
export function place(reason: Reason, task: Lane): Link | undefined {
  const name = reason.name ?? "";
  switch (reason.code) {
    case "paused":
    case "put_off":
      if (reason.what === "queue") return { text: "Queue", address: `/queues/${encodeURIComponent(name)}` };
      if (reason.what === "tenant") return { text: "Tenant", address: tenantAt(name) };
      return { text: "Its tasks", address: to("/tasks", { kind: name }) };
    case "at_cap":
      return { text: "Who holds it", address: to("/tasks", { state: "running", queue: reason.queue ?? undefined, tenant: reason.tenant ?? undefined }) };
    case "out_of_tokens":
      if (reason.tenant != null) return { text: "Limit", address: tenantAt(reason.tenant) };
      return { text: "Limit", address: reason.queue == null ? "/limits" : `/queues/${encodeURIComponent(reason.queue)}` };
    case "in_turn":
      return { text: "Lane", address: to("/tasks", { state: "ready", queue: task.queue, tenant: task.tenant }) };
    case "at_gate":
      return { text: "Gate", address: to("/tasks", { concurrency_key: reason.key }) };
    case "no_worker":
      return { text: "Workers", address: "/workers" };
    case "running":
      return reason.session == null ? undefined : { text: "Worker", address: `/workers/${encodeURIComponent(reason.session)}` };
    case "finished":
      if (task.error_group == null) return undefined;
      return { text: "All that failed like it", address: `/dead-letters/${encodeURIComponent(task.error_group)}` };
    default:
      return undefined;
  }
}

/** What holds a task back, each with its sentence: every reason but that others are before it. */
export function holding(
  sentences: readonly string[], reasons: readonly Reason[],
): { readonly sentence: string; readonly reason: Reason }[] {
  return reasons.flatMap((reason, n) => (reason.code === "in_turn" ? [] : [{ reason, sentence: sentences[n] ?? reason.code }]));
}

const INSTANT = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g;

/** A sentence with its instants as they are read here. */
export function local(sentence: string, now: number, zone?: string): string {
  return sentence.replace(INSTANT, (text) => moment(Date.parse(text), now, zone));
}
