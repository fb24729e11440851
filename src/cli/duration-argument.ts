import { InvalidArgumentError } from 'commander';
import { parseDuration } from '../domain/duration.ts';

/** Reads an option's duration, as milliseconds. */
export function durationArgument(text: string): number {
  try {
    return parseDuration(text);
  } catch (error) {
    throw new InvalidArgumentError(error instanceof Error ? error.message : String(error));
  }
}
