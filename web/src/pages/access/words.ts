/** The names in a text that has commas or spaces between them, each once. */
export function words(text: string): string[] {
  return [...new Set(text.split(/[\s,]+/).filter((word) => word !== ""))];
}
