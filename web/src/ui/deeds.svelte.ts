/** What the keys do on the page that is shown; the newest that was offered goes first. */

import type { Deed } from "../lib/keys";

type Offer = Partial<Record<Deed, () => void>>;

class Deeds {
  #offers: Offer[] = [];

  /** Offer deeds for as long as the returned function is not called. */
  offer(offer: Offer): () => void {
    this.#offers.push(offer);
    return () => {
      this.#offers = this.#offers.filter((other) => other !== offer);
    };
  }

  /** Do it, if somebody offers to. */
  do(deed: Deed): boolean {
    for (const offer of [...this.#offers].reverse()) {
      const act = offer[deed];
      if (act !== undefined) {
        act();
        return true;
      }
    }
    return false;
  }
}

export const deeds = new Deeds();
