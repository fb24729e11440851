/** The value at a dotted path of what JSON held. Own members only: a field may be called `constructor`. */
export function fieldAt(value: unknown, path: string): unknown {
  return path.split('.').reduce(memberOf, value);
}

function memberOf(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null) return undefined;
  const member = Object.getOwnPropertyDescriptor(value, name);
  return member?.enumerable === true ? member.value : undefined;
}

/** Undefined where it is none. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
