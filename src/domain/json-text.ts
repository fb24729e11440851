import { createScanner } from 'jsonc-parser';
import { MAX_JSON_DEPTH } from './json.ts';

// What only the text of a JSON value shows, and JSON.parse has lost. Both functions take a text that JSON.parse
// has accepted. They go by tokens and never recurse, so that depth alone cannot overflow the stack.

/** An item wraps its payload, which may be as deep as any value. */
const MAX_ITEM_DEPTH = MAX_JSON_DEPTH + 1;

/** A double needs 17 digits and an exponent; longer ones are refused before their zeros are counted. */
const MAX_NUMBER_LENGTH = 400;

/**
 * Says why a reader of this text may understand something else than its writer meant, or undefined: a name
 * that stands twice, a number that a double does not carry, or nesting too deep to be looked at.
 *
 * @returns e.g. `payload.amount: 1e400 is a number that readers round; send it as a string`
 */
export function exactnessFault(text: string): string | undefined {
  const open: Container[] = [];
  for (const token of tokensOf(text)) {
    const inside = open.at(-1);
    switch (token.kind) {
      case '{':
      case '[':
        if (open.length > MAX_ITEM_DEPTH) return `nested deeper than ${MAX_JSON_DEPTH} levels`;
        open.push({
          names: token.kind === '{' ? new Set() : undefined,
          awaitsName: token.kind === '{',
          at: 0,
        });
        break;
      case '}':
      case ']':
        open.pop();
        break;
      case ',':
        if (inside?.names) inside.awaitsName = true;
        else if (typeof inside?.at === 'number') inside.at += 1;
        break;
      case ':':
        if (inside) inside.awaitsName = false;
        break;
      case '"':
        if (!inside?.names || !inside.awaitsName) break;
        inside.at = token.value;
        if (inside.names.has(token.value)) return `${pathOf(open)}: stands twice`;
        inside.names.add(token.value);
        break;
      default:
        if (/^[-\d]/.test(token.text) && !isExact(token.text))
          return `${pathOf(open)}: ${shorten(token.text)} is a number that readers round; send it as a string`;
    }
  }
  return undefined;
}

/** The members of an array or object that is the whole text, each as its own text, in order. */
export function membersOf(text: string): { readonly name: string; readonly text: string }[] {
  const members: { name: string; text: string }[] = [];
  let depth = 0;
  let start = 0;
  let name = '';
  let lastString = '';
  for (const { kind, value, offset } of tokensOf(text)) {
    if (kind === '{' || kind === '[') depth += 1;
    if (kind === '}' || kind === ']') depth -= 1;
    if (kind === '"') lastString = value;
    if (depth === 1 && kind === ':') name = lastString;
    if (depth === 0 || (depth === 1 && kind === ',')) {
      const member = text.slice(start, offset).trim();
      // Empty only where the container is.
      if (member !== '') members.push({ name, text: member });
    }
    if (depth === 1 && (kind === ',' || kind === ':' || start === 0)) start = offset + 1;
  }
  return members;
}

/** An object (with the names seen so far) or array that is open at a token; `at` is the member it is in. */
interface Container {
  readonly names: Set<string> | undefined;
  awaitsName: boolean;
  at: string | number;
}

interface Token {
  /** its first character, which tells JSON's tokens apart */
  readonly kind: string;
  readonly text: string;
  /** what a string means, without quotes and escapes */
  readonly value: string;
  readonly offset: number;
}

function* tokensOf(text: string): Generator<Token> {
  const scanner = createScanner(text, true);
  for (scanner.scan(); scanner.getTokenOffset() < text.length; scanner.scan()) {
    const offset = scanner.getTokenOffset();
    yield {
      kind: text.charAt(offset),
      text: text.slice(offset, offset + scanner.getTokenLength()),
      value: scanner.getTokenValue(),
      offset,
    };
  }
}

function pathOf(open: readonly Container[]): string {
  const steps = open.map(({ at }) => (typeof at === 'number' ? `[${at}]` : `.${shorten(at)}`));
  return steps.join('').replace(/^\./, '');
}

function shorten(text: string): string {
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}

/** Whether a double, written out again, has the same digits; integers beyond 2^53 never count as exact. */
function isExact(text: string): boolean {
  const value = Number(text);
  if (text.length > MAX_NUMBER_LENGTH || !Number.isFinite(value)) return false;
  if (Number.isInteger(value) && !Number.isSafeInteger(value)) return false;
  return decimal(text) === decimal(String(value));
}

/** One text for each number, however it is written: 1.50, 15e-1 and 1.5 are all `15e-1`. */
function decimal(text: string): string {
  const [, whole = '', fraction = '', exponent = '0'] =
    /^-?(\d+)(?:\.(\d+))?(?:e([+-]?\d+))?$/i.exec(text) ?? [];
  const digits = (whole + fraction).replace(/^0+/, '');
  const significant = digits.replace(/0+$/, '');
  if (significant === '') return '0';
  return `${significant}e${Number(exponent) - fraction.length + digits.length - significant.length}`;
}
