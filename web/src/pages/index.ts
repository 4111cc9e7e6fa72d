/** Every page, loaded when it is first shown. */

import type { Component } from "svelte";
import type { PageName } from "../url/routes";

type Loader = () => Promise<{ default: Component }>;

export const PAGES: Record<PageName, Loader> = {
  overview: () => import("./overview/Overview.svelte"),
  queue: () => import("./queue/Queue.svelte"),
  tasks: () => import("./tasks/Tasks.svelte"),
  task: () => import("./task/Task.svelte"),
  schedules: () => import("./schedules/Schedules.svelte"),
  schedule: () => import("./schedules/Schedule.svelte"),
  "schedule-edit": () => import("./schedules/ScheduleEdit.svelte"),
  "dead-letters": () => import("./dead-letters/Groups.svelte"),
  "dead-letter-group": () => import("./dead-letters/Group.svelte"),
  tenants: () => import("./tenants/Tenants.svelte"),
  tenant: () => import("./tenants/Tenant.svelte"),
  limits: () => import("./tenants/Limits.svelte"),
  workers: () => import("./workers/Workers.svelte"),
  worker: () => import("./workers/Worker.svelte"),
  operation: () => import("./operation/Operation.svelte"),
  keys: () => import("./access/Keys.svelte"),
  audit: () => import("./access/Audit.svelte"),
  alerts: () => import("./access/Alerts.svelte"),
  login: () => import("./login/Login.svelte"),
  missing: () => import("./missing/Missing.svelte"),
};
