/** The seven figures, read on every page: for the bar, the tab's title and the overview (R9.4). */

import { get } from "../api/client";
import { live } from "./live.svelte";
import { Resource } from "./resource.svelte";

const APART = 5000;

class Attention {
  readonly figures = new Resource((signal) => get("/v1/stats/figures", { signal }));
  /** How many of the figures are over. */
  readonly over = $derived((this.figures.data?.figures ?? []).filter((figure) => figure.breached).length);
  /** Dead letters, if they are over their threshold. */
  readonly deadLetters = $derived.by(() => {
    const figure = this.figures.data?.figures.find((one) => one.figure === "dead_letters");
    return figure?.breached ? (figure.value ?? undefined) : undefined;
  });

  /** Follow them until the returned function is called. */
  follow(): () => void {
    void this.figures.refresh();
    const end = live.on(["stats", "alerts"], () => void this.figures.refresh(), APART);
    return () => {
      end();
      this.figures.close();
      this.figures.data = undefined;
    };
  }
}

export const attention = new Attention();
