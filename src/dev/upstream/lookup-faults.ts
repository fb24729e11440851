import { z } from 'zod';
import { onlyLastForEver, status, throttle, times } from './faults.ts';

/** One way in which a lookup proves nothing. */
export const lookupFaultSchema = z.discriminatedUnion('type', [
  throttle,
  status.refine((fault) => fault.effect === 'none', {
    path: ['effect'],
    error: 'expected nothing here: a lookup has no effect',
  }),
  /** answers with a record, but of another key */
  z.strictObject({ type: z.literal('otherRecord'), times }),
  /** answers 200 with a page for people */
  z.strictObject({ type: z.literal('html'), times }),
  z.strictObject({ type: z.literal('reset'), times }),
  z.strictObject({ type: z.literal('hang'), times }),
]);
export type LookupFault = z.output<typeof lookupFaultSchema>;

/** What happens to the lookups of a key, in order; after the last fault they tell the truth. */
export const lookupScriptSchema = z.record(z.string().min(1), onlyLastForEver(z.array(lookupFaultSchema)));
/** As it is written, with defaults left out. */
export type LookupScript = z.input<typeof lookupScriptSchema>;
export type ParsedLookupScript = z.output<typeof lookupScriptSchema>;
