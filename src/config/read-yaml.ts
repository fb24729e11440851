import { readFileSync } from 'node:fs';
import { type Document, type YAMLError, LineCounter, isScalar, parseDocument, visit } from 'yaml';
import { ConfigError, type Fault, fault } from './faults.ts';

/** What is wrong once makes a parser stumble all the way down; a file that is no YAML at all has hundreds. */
const MOST_ERRORS = 10;

/**
 * Reads a YAML file into plain values.
 *
 * @throws ConfigError when there is no such file, it is not UTF-8, it is empty, or it is not YAML
 */
export function readYaml(file: string): unknown {
  const lines = new LineCounter();
  const document = parseDocument(readText(file), {
    lineCounter: lines,
    // The pretty ones quote the line, which may hold a header's value.
    prettyErrors: false,
    // 202 and "202" become one name in JavaScript: the second would win in silence.
    uniqueKeys: (a, b) => isScalar(a) && isScalar(b) && String(a.value) === String(b.value),
  });
  const where = (offset: number) => {
    const { line, col } = lines.linePos(offset);
    return `line ${line}, column ${col}`;
  };
  const errors = [...document.errors, ...document.warnings];
  const faults: Fault[] = errors
    .slice(0, MOST_ERRORS)
    .map((error) => fault([], `${where(error.pos[0])}: ${withoutSource(error)}`));
  if (errors.length > MOST_ERRORS)
    faults.push(fault([], `and ${errors.length - MOST_ERRORS} more like these`));
  visit(document, {
    Scalar(position, node) {
      // zod skips this name, so that what stands under it would be ignored.
      if (position === 'key' && node.value === '__proto__')
        faults.push(fault([], `${where(node.range?.[0] ?? 0)}: __proto__ is no name here`));
    },
  });
  if (faults.length > 0) throw new ConfigError(file, faults);
  const value = plainValue(document, file);
  if (value === null) throw new ConfigError(file, [fault([], 'expected lanes, got an empty file')]);
  return value;
}

/** Aliases are resolved only here; so many that they blow up a small file are refused by the parser. */
function plainValue(document: Document.Parsed, file: string): unknown {
  try {
    return document.toJS();
  } catch {
    throw new ConfigError(file, [
      fault([], 'an alias (*name) has no anchor (&name) above it, or there are too many'),
    ]);
  }
}

function readText(file: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(readFileSync(file));
  } catch (error) {
    throw new ConfigError(file, [
      fault([], `cannot be read: ${error instanceof Error ? error.message : String(error)}`),
    ]);
  }
}

/** Some messages end with a piece of the file, after a colon. */
function withoutSource({ message }: YAMLError): string {
  return message.replace(/(\S): .*$/s, '$1');
}
