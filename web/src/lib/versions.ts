/** The version that most have, or undefined if there are none. */
export function usual(versions: readonly string[]): string | undefined {
  const counts = new Map<string, number>();
  for (const version of versions) counts.set(version, (counts.get(version) ?? 0) + 1);
  return [...counts].sort((a, b) => b[1] - a[1])[0]?.[0];
}
