/** What plain Temporal is measured with: it does nothing. */
export async function trivial(): Promise<void> {}
