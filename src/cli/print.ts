/** Prints one answer: as JSON for a program, or as the text for a person. */
export function print(json: boolean | undefined, value: unknown, text: () => string): void {
  console.log(json ? JSON.stringify(value) : text());
}

/** Columns padded to their widest cell. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [head, ...rows];
  const widths = head.map((_, column) => Math.max(...lines.map((line) => (line[column] ?? '').length)));
  return lines
    .map((line) =>
      line
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}
