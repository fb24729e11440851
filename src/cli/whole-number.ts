import { InvalidArgumentError } from 'commander';

/** Reads an option's whole number; what range it may have, its command knows. */
export function wholeNumber(text: string): number {
  if (!/^-?\d+$/.test(text)) throw new InvalidArgumentError(`Expected a whole number, got "${text}".`);
  return Number(text);
}
