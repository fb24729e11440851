import { hasLoneSurrogate } from './json.ts';

/**
 * A text with placeholders, for an item's key (`release:{payload.package}:{payload.version}`) or for a path
 * below the upstream's base URL (`/packages/{payload.package}/releases`).
 */
export interface Template {
  readonly text: string;
  readonly parts: readonly TemplatePart[];
}

/** `field` is the way into `TemplateValues`, e.g. `['payload', 'package']`. */
export type TemplatePart =
  | { readonly kind: 'literal'; readonly text: string }
  | { readonly kind: 'placeholder'; readonly field: readonly string[] };

/** What an item gives to its templates. */
export interface TemplateValues {
  readonly key?: string | undefined;
  readonly partition?: string | undefined;
  readonly operation?: string | undefined;
  readonly version?: string | number | undefined;
  readonly payload: unknown;
}

/** `reason` begins with the field at fault, e.g. `payload.version: missing, needed by the key template`. */
export type Filled = { ok: true; text: string } | { ok: false; reason: string };

const ROOTS = ['key', 'partition', 'operation', 'version', 'payload'];

/**
 * Reads a template. Braces stand only around placeholders; there is no way to write one that is meant itself.
 *
 * @throws Error that names the fault and quotes the placeholder
 */
export function parseTemplate(text: string): Template {
  const parts: TemplatePart[] = [];
  // One brace-free run or one whole placeholder at a time; what fits neither is a brace without its other.
  for (const [piece, placeholder] of text.matchAll(/\{([^{}]*)\}|[^{}]+|[{}]/g)) {
    if (piece === '{' || piece === '}') throw new Error(`unbalanced ${piece} in ${JSON.stringify(text)}`);
    parts.push(
      placeholder === undefined
        ? { kind: 'literal', text: piece }
        : { kind: 'placeholder', field: parseField(placeholder) },
    );
  }
  return { text, parts };
}

function parseField(placeholder: string): string[] {
  const field = placeholder.split('.');
  const [root = '', ...names] = field;
  if (placeholder === '') throw new Error('empty placeholder {}');
  if (!ROOTS.includes(root))
    throw new Error(
      `unknown placeholder {${placeholder}}: expected {key}, {partition}, {operation}, {version} or {payload.…}`,
    );
  if (root === 'payload' && names.length === 0)
    throw new Error('placeholder {payload} names no field: expected e.g. {payload.id}');
  if (root !== 'payload' && names.length > 0)
    throw new Error(`placeholder {${placeholder}}: ${root} has no fields`);
  if (names.includes('')) throw new Error(`placeholder {${placeholder}} has an empty field name`);
  return field;
}

/** Says why a template cannot be a path, or undefined when it can. */
export function pathTemplateFault({ text, parts }: Template): string | undefined {
  if (!text.startsWith('/')) return `expected a path that begins with /, got ${JSON.stringify(text)}`;
  for (const part of parts) {
    // RFC 3986's pchar and `/`: no `?`, `#` or `\`, no blanks, no control characters, and % only to encode.
    if (part.kind === 'literal' && !/^(?:[\w\-.~!$&'()*+,;=:@/]|%[0-9A-Fa-f]{2})*$/.test(part.text))
      return `expected only characters that a URL's path takes, got ${JSON.stringify(part.text)}`;
  }
  if (text.includes('//')) return `expected no empty segment, got ${JSON.stringify(text)}`;
  if (hasDotSegment(text)) return `expected no segment . or .., got ${JSON.stringify(text)}`;
  return undefined;
}

/** Fills a key template. Whether the text may be a key is not decided here. */
export function fillKey(template: Template, values: TemplateValues): Filled {
  return fill(template, values, 'key');
}

/**
 * Fills a path template; each value becomes (a part of) one segment, percent-encoded, so that none can add a
 * segment or a query, or climb out of the path. The template must be one that `pathTemplateFault` let pass.
 */
export function fillPath(template: Template, values: TemplateValues): Filled {
  return fill(template, values, 'path');
}

function fill(template: Template, values: TemplateValues, target: 'key' | 'path'): Filled {
  const usedBy = `the ${target} template`;
  let text = '';
  for (const part of template.parts) {
    if (part.kind === 'literal') {
      text += part.text;
      continue;
    }
    const name = part.field.join('.');
    const value = lookUp(values, part.field);
    if (value === undefined) return refuse(name, `missing, needed by ${usedBy}`);
    const asText = textOf(value);
    if (asText === undefined)
      return refuse(name, `expected text, a whole number or true/false for ${usedBy}, got ${kindOf(value)}`);
    if (asText === '') return refuse(name, `empty, which ${usedBy} cannot carry`);
    if (hasLoneSurrogate(asText)) return refuse(name, 'text with a lone surrogate, which UTF-8 cannot carry');
    if (target === 'path' && (asText === '.' || asText === '..'))
      return refuse(name, `${asText} is a step in a path, which a URL cannot carry as a value`);
    text += target === 'path' ? encodeSegment(asText) : asText;
  }
  return { ok: true, text };
}

function refuse(field: string, problem: string): Filled {
  return { ok: false, reason: `${field}: ${problem}` };
}

/** Own members of objects only: a field named `constructor` or `length` must not find JavaScript's. */
function lookUp(values: TemplateValues, field: readonly string[]): unknown {
  let value: unknown = values;
  for (const name of field) {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
    value = Object.getOwnPropertyDescriptor(value, name)?.value;
  }
  return value;
}

function textOf(value: unknown): string | undefined {
  if (typeof value === 'string') return value;
  if (typeof value === 'boolean' || Number.isSafeInteger(value)) return String(value);
  return undefined;
}

function kindOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'number') return `the number ${value}`;
  return typeof value === 'object' ? 'an object' : typeof value;
}

/** `encodeURIComponent` leaves `!'()*`, which RFC 3986 reserves and some routers give a meaning. */
function encodeSegment(text: string): string {
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

/** Whoever resolves a URL takes `%2e` for a dot. */
function hasDotSegment(path: string): boolean {
  return path.split('/').some((segment) => /^(?:\.|%2e){1,2}$/i.test(segment));
}
