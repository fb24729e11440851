import { z } from 'zod';
import { uniform } from '../uniform.ts';
import { faultSchema, type Fault } from './faults.ts';

/** Faults that befall any arrival whose key has no script, each with its probability. */
export const chanceSchema = z
  .array(
    z.strictObject({
      probability: z.number().min(0).max(1),
      fault: faultSchema.refine((fault) => fault.times === undefined, {
        path: ['times'],
        error: 'expected nothing here: every arrival is decided by itself',
      }),
    }),
  )
  .refine(
    (templates) => templates.reduce((sum, { probability }) => sum + probability, 0) <= 1,
    'expected probabilities whose sum is at most 1',
  );
export type ChanceTemplates = z.output<typeof chanceSchema>;

/**
 * The fault for a key's nth arrival (from 1), or undefined. It depends on nothing but its arguments: neither
 * the order in which keys arrive nor a restart changes what befalls a key.
 */
export function chanceFault(
  templates: ChanceTemplates,
  seed: number,
  key: string,
  n: number,
): Fault | undefined {
  let draw = uniform(seed, key, n);
  for (const { probability, fault } of templates) {
    if (draw < probability) return fault;
    draw -= probability;
  }
  return undefined;
}
