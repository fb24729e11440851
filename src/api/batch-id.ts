import type { IncomingMessage } from 'node:http';
import { z } from 'zod';
import { BatchSchema, NAME_PATTERN } from '../domain/batch.ts';
import { ProblemError } from './problems.ts';

/**
 * The `Idempotency-Key` header: the batch's ID, as it is, or as the quoted string that the header's draft standard
 * has. No batch ID contains a quote, so that the two can't be mistaken for each other.
 */
export const BatchIdHeaderSchema = z
  .string("required: the batch's ID")
  .meta({
    pattern: `^(?!"?\\.{1,2}"?$)(?:${NAME_PATTERN}|"${NAME_PATTERN}")$`,
    minLength: 1,
    maxLength: 202,
    description: "the batch's ID, e.g. `release-batch:2026-08-12:17`: the same again is the same batch",
  })
  .transform(unquoted)
  .pipe(BatchSchema.shape.batchId)
  .refine((id) => id !== '.' && id !== '..', 'cannot be carried by a URL');

function unquoted(text: string): string {
  return /^"([^"\\]*)"$/.exec(text)?.[1] ?? text;
}

/** Two of them would be joined with a comma, and make a third. */
export function mustComeOnce({ rawHeaders }: IncomingMessage): void {
  const names = rawHeaders.filter((_, i) => i % 2 === 0);
  const count = names.filter((name) => name.toLowerCase() === 'idempotency-key').length;
  if (count > 1)
    throw new ProblemError('no-idempotency-key', `header.idempotency-key: expected one, got ${count}`, {
      errors: [{ field: 'header.idempotency-key', message: `expected one, got ${count}` }],
    });
}
