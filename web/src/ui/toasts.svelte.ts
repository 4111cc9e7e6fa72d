/** Short words about what was done, with a way back where there is one. */

export interface Toast {
  readonly id: number;
  readonly text: string;
  readonly bad: boolean;
  readonly undo: (() => void) | undefined;
}

const SECONDS = 8;

class Toasts {
  all = $state<Toast[]>([]);
  #next = 1;

  say(text: string, options: { bad?: boolean; undo?: () => void } = {}): void {
    const id = this.#next++;
    this.all.push({ id, text, bad: options.bad ?? false, undo: options.undo });
    if (!options.bad) setTimeout(() => this.close(id), SECONDS * 1000);
  }

  close(id: number): void {
    this.all = this.all.filter((toast) => toast.id !== id);
  }
}

export const toasts = new Toasts();
