/** Changes of tenants and limits, each for the version that was on the screen. */

import { send } from "../../api/client";
import { toasts } from "../../ui/toasts.svelte";
import { turned } from "../../ui/pausing";
import { nameOf, scopeOf, type Limit } from "./tenants";

const key = (name: string): string => (name === "" ? "-" : name);

/** Pause a tenant or let it go on, with a way back for some seconds. */
export async function pauseTenant(name: string, pause: boolean, after: () => Promise<void>): Promise<void> {
  const path = { name: key(name) };
  await turned(
    () => (pause ? send("post", "/v1/tenants/{name}/pause", { path, body: {} as never }) : send("post", "/v1/tenants/{name}/resume", { path })),
    `${pause ? "Paused" : "Resumed"} tenant ${nameOf(name)}.`,
    `${pause ? "Not paused" : "Not resumed"}: tenant ${nameOf(name)}`,
    () => pauseTenant(name, !pause, after),
    after,
  );
}

/** Change one setting of a tenant. */
export async function setTenant(
  name: string,
  change: { weight?: number | null; max_depth?: number | null },
  version: number,
): Promise<void> {
  await send("patch", "/v1/tenants/{name}", { path: { name: key(name) }, body: change, ifMatch: version });
  toasts.say(`Changed tenant ${nameOf(name)}; in force everywhere from the next claim on.`);
}

/** Change what a limit bounds. */
export async function setLimit(
  limit: Limit,
  change: { max_running?: number | null; rate?: number | null; burst?: number | null },
  version: number,
): Promise<void> {
  await send("patch", "/v1/limits/{id}", { path: { id: limit.id }, body: change, ifMatch: version });
  toasts.say(`Changed the limit of ${scopeOf(limit)}; in force everywhere from the next claim on.`);
}
