/** Tenants as lists show them: those with settings, and those that got something. Pure. */

import type { components } from "../../api/schema";
import { instant } from "../../lib/format";
import { due, refilled, type Part } from "../../lib/shares";

export type Tenant = components["schemas"]["Tenant"];
export type Limit = components["schemas"]["LimitUse"];
export type Served = components["schemas"]["TenantsServed"];

export interface Row extends Tenant {
  /** What part it got of all that was completed lately; undefined where nobody may know. */
  readonly got: number | undefined;
  /** What part it is due while all that want something wait; undefined if it wants nothing. */
  readonly due: number | undefined;
  /** Its own limit, in all queues together. */
  readonly limit: Limit | undefined;
  /** Whether it has no settings: weight 1 and no bounds. */
  readonly usual: boolean;
}

/** The path of a tenant; the one without a name is `-`. */
export function pathOf(name: string): string {
  return `/tenants/${name === "" ? "-" : encodeURIComponent(name)}`;
}

/** A tenant's name as it is shown. */
export function nameOf(name: string): string {
  return name === "" ? "(none)" : name;
}

/** Those that want something and may have it: they wait, or they got something lately. */
export function wanting(tenants: readonly Tenant[], served: Served | undefined): Part[] {
  const weights = new Map(tenants.map((one) => [one.name, one.weight]));
  const names = new Set(tenants.filter((one) => one.waiting > 0).map((one) => one.name));
  for (const one of served?.items ?? []) names.add(one.tenant);
  for (const one of tenants) if (one.paused) names.delete(one.name);
  return [...names].map((name) => ({ name, weight: weights.get(name) ?? 1 }));
}

/** The rows of the list, by name; `own` is the tenant that a key is bound to, which is there in any case. */
export function rows(
  tenants: readonly Tenant[], served: Served | undefined, limits: readonly Limit[], whole: boolean, own?: string | null,
): Row[] {
  const known = new Map(tenants.map((one) => [one.name, one]));
  const got = new Map((served?.items ?? []).map((one) => [one.tenant, one.share]));
  const parts = wanting(tenants, served);
  const names = new Set([...known.keys(), ...(whole ? got.keys() : []), ...(own === undefined || own === null ? [] : [own])]);
  return [...names].sort().map((name) => {
    const one = known.get(name) ?? { ...NOTHING, name };
    const others = parts.filter((part) => part.name !== name);
    const wants = parts.length > others.length;
    return {
      ...one,
      got: served === undefined ? undefined : (got.get(name) ?? 0),
      due: served !== undefined && wants ? due(one.weight, others) : undefined,
      limit: limits.find((limit) => limit.tenant === name && limit.queue === null),
      usual: !known.has(name),
    };
  });
}

/** What holds a tenant back now by its own bounds: "paused", "cap", "rate in sms"; `now` in milliseconds. */
export function heldBy(row: Pick<Tenant, "name" | "paused">, limits: readonly Limit[], now: number): string[] {
  const held = row.paused ? ["paused"] : [];
  for (const limit of limits) {
    if (limit.tenant !== row.name) continue;
    const where = limit.queue === null ? "" : ` in ${limit.queue}`;
    if (limit.max_running !== null && limit.running >= limit.max_running) held.push(`cap${where}`);
    const tokens = tokensOf(limit, now);
    if (tokens !== undefined && tokens < 1) held.push(`rate${where}`);
  }
  return held;
}

/** How many tokens a limit has now: those that were counted, and what came in since; none without a rate. */
export function tokensOf(limit: Limit, now: number): number | undefined {
  if (limit.rate === null || limit.tokens === null) return undefined;
  return refilled(limit.tokens, limit.rate, limit.burst ?? limit.rate, instant(limit.as_of), now);
}

const NOTHING: Omit<Tenant, "name"> = {
  paused: false, paused_at: null, pause_reason: null, weight: 1, max_depth: null, version: 0, waiting: 0, capped: false,
};

/** What a limit is for, in words. */
export function scopeOf(limit: Pick<Limit, "queue" | "tenant">): string {
  const queue = limit.queue === null ? "" : `queue ${limit.queue}`;
  const tenant = limit.tenant === null ? "" : `tenant ${nameOf(limit.tenant)}`;
  return [queue, tenant].filter((part) => part !== "").join(", ");
}
