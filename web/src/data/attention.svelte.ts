/** What is over its threshold, for the bar and the tab's title. */

class Attention {
  /** How many of the seven figures are over. */
  over = $state(0);
  /** Dead letters, if they are over their threshold. */
  deadLetters = $state<number | undefined>();
}

export const attention = new Attention();
