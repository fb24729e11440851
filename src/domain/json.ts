/** A value that JSON carries, as `JSON.parse` gives it. */
export type Json = null | boolean | number | string | Json[] | { [name: string]: Json };

/** Deeper than any real payload, and shallow enough that no recursive reader of ours overflows its stack. */
export const MAX_JSON_DEPTH = 64;

/**
 * Says why JSON cannot carry a value exactly, or undefined when it can (I-JSON, RFC 7493): the one who
 * sends it and the one who reads it would otherwise not agree on what the operation is.
 *
 * Duplicate names and digits beyond a double's precision are gone once a text is parsed; whoever still has
 * the text looks for them there.
 *
 * @param path where the value stands, e.g. `payload`; the answer names the faulty place below it
 */
export function jsonFault(value: unknown, path: string, depth = 0): string | undefined {
  if (depth > MAX_JSON_DEPTH) return `${path}: nested deeper than ${MAX_JSON_DEPTH} levels`;
  switch (typeof value) {
    case 'boolean':
      return undefined;
    case 'string':
      return hasLoneSurrogate(value)
        ? `${path}: text with a lone surrogate, which UTF-8 cannot carry`
        : undefined;
    case 'number':
      return numberFault(value, path);
    case 'object':
      if (value === null) return undefined;
      return Array.isArray(value) ? arrayFault(value, path, depth) : objectFault(value, path, depth);
    default:
      return `${path}: expected a JSON value, got ${typeof value}`;
  }
}

function numberFault(value: number, path: string): string | undefined {
  if (!Number.isFinite(value)) return `${path}: expected a finite number, got ${value}`;
  if (Number.isInteger(value) && !Number.isSafeInteger(value))
    return `${path}: integer beyond 2^53 (${value}), which JSON readers round; send it as a string`;
  return undefined;
}

function arrayFault(value: unknown[], path: string, depth: number): string | undefined {
  for (let i = 0; i < value.length; i++) {
    const fault = jsonFault(value[i], `${path}[${i}]`, depth + 1);
    if (fault) return fault;
  }
  return undefined;
}

function objectFault(value: object, path: string, depth: number): string | undefined {
  const prototype: unknown = Object.getPrototypeOf(value);
  // A Date, a Map or a Buffer would turn into something else on its way.
  if (prototype !== null && Object.getPrototypeOf(prototype) !== null)
    return `${path}: expected a plain object, got ${value.constructor.name}`;
  for (const [name, member] of Object.entries(value)) {
    // JSON leaves it out, and so does everybody who reads the value after it was sent.
    if (member === undefined) continue;
    if (hasLoneSurrogate(name)) return `${path}: a name with a lone surrogate, which UTF-8 cannot carry`;
    const fault = jsonFault(member, `${path}.${name}`, depth + 1);
    if (fault) return fault;
  }
  return undefined;
}

const LONE_SURROGATE = /[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/;

export function hasLoneSurrogate(text: string): boolean {
  return LONE_SURROGATE.test(text);
}
