/** How long a task waited and ran, in seconds, up to now where it still does. Pure. */

interface Lived {
  readonly state: string;
  readonly created_at: string;
  readonly run_at: string;
  readonly started_at: string | null;
  readonly finished_at: string | null;
}

/** From when it could have run until it did; undefined for what is not due or never was. */
export function waited(task: Lived, now: number): number | undefined {
  const due = Math.max(Date.parse(task.created_at), Date.parse(task.run_at));
  if (task.state === "ready") return Math.max(0, now - due) / 1000;
  if (task.state === "scheduled" || task.started_at === null) return undefined;
  return Math.max(0, Date.parse(task.started_at) - due) / 1000;
}

/** How long its newest attempt ran. */
export function ran(task: Lived, now: number): number | undefined {
  if (task.started_at === null || task.state === "scheduled" || task.state === "ready") return undefined;
  const end = task.finished_at === null ? now : Date.parse(task.finished_at);
  return Math.max(0, end - Date.parse(task.started_at)) / 1000;
}
