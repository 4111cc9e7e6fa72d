/** Which rows of a page are no longer in their list. Pure. */

/**
 * The ids of rows on the screen that are not among those that were read. Of a list that goes on, the
 * last ones are only behind the end now, as many as new ones came in before them.
 */
export function left(shown: readonly string[], read: ReadonlySet<string>, fresh: number, whole: boolean): Set<string> {
  const gone = new Set(shown.filter((id) => !read.has(id)));
  let pushed = whole ? 0 : fresh;
  for (let n = shown.length - 1; n >= 0 && pushed > 0; n -= 1, pushed -= 1) {
    const id = shown[n] ?? "";
    if (!gone.delete(id)) break;
  }
  return gone;
}
