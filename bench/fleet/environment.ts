/** Whoever runs a bench may have settings for a Temporal of their own, which must not leak into its workers. */
export function forgetOtherTemporals(): void {
  for (const name of Object.keys(process.env)) if (name.startsWith('TEMPORAL_')) delete process.env[name];
}
