/** What was typed into the search, as an address. Pure. */

import { FILTERS } from "./filters";
import { to } from "../url/routes";

const ID = /^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i;
const NAMED = /^([a-z_]+):(.*)$/s;
const PAYLOAD = /^(payload\.[^=\s]+)=(.*)$/s;

/** Where that leads; undefined if nothing was typed. */
export function sought(text: string): string | undefined {
  const wanted = text.trim();
  if (wanted === "") return undefined;
  if (ID.test(wanted)) return `/tasks/${wanted}`;
  const payload = PAYLOAD.exec(wanted);
  if (payload?.[1] !== undefined) return to("/tasks", { state: "all", [payload[1]]: payload[2] ?? "" });
  const named = NAMED.exec(wanted);
  const name = named?.[1] ?? "";
  // A key may well hold a colon: only names of filters are taken for such.
  if ((FILTERS as readonly string[]).includes(name)) return to("/tasks", { state: "all", [name]: named?.[2]?.trim() ?? "" });
  return to("/tasks", { state: "all", q: wanted });
}
