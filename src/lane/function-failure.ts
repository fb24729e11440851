import { types } from 'node:util';
import type { z } from 'zod';
import { describeIssues } from '../domain/batch.ts';

/** What an error's class is called; anybody may have made it anything. */
const NAME = /^[A-Za-z_$][\w$]{0,79}$/;

/** What a function answered tells nothing. */
export class NoAnswerError extends Error {
  override readonly name = 'NoAnswerError';
}

/** @throws NoAnswerError that names each field, what was expected and what came */
export function parsed<T>(schema: z.ZodType<T>, answer: unknown): T {
  const result = schema.safeParse(answer);
  if (result.success) return result.data;
  throw new NoAnswerError(describeIssues(result.error, 'answer'));
}

/**
 * What is known of a call whose function threw, whatever that was: `code` is kept as evidence; `what`, one line, is
 * only said, since what an error says may hold anything, secrets included.
 */
export function failureOf(thrown: unknown): { code: string; what: string } {
  if (thrown instanceof NoAnswerError)
    return { code: 'NO_ANSWER', what: `answered what is no answer: ${thrown.message}` };
  return { code: `THREW ${kindOf(thrown)}`, what: `threw ${textOf(thrown)}` };
}

function kindOf(thrown: unknown): string {
  if (!types.isNativeError(thrown)) return typeof thrown;
  const name: unknown = attempt(() => thrown.name);
  return typeof name === 'string' && NAME.test(name) ? name : 'Error';
}

function textOf(thrown: unknown): string {
  const text = attempt(() => String(thrown)) ?? 'something that has no text';
  return text.replaceAll(/\s*[\r\n]+\s*/g, ' ');
}

/** What was thrown may throw again when it is looked at. */
function attempt<T>(look: () => T): T | undefined {
  try {
    return look();
  } catch {
    return undefined;
  }
}
