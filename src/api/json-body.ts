import type { FastifyInstance } from 'fastify';
import { unreadable } from '../domain/item-text.ts';
import { exactnessFault, membersOf } from '../domain/json-text.ts';
import { ProblemError } from './problems.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** of a JSON body, since JSON.parse loses what makes two readers disagree */
    bodyText: string;
  }
}

/** Takes JSON bodies, each with its text. */
export function takeJsonBodies(app: FastifyInstance): void {
  app.decorateRequest('bodyText', '');
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, bytes, done) => {
    try {
      request.bodyText = decoded(bytes);
      done(null, parsed(request.bodyText));
    } catch (error) {
      done(error instanceof Error ? error : new Error(String(error)), undefined);
    }
  });
}

function decoded(bytes: string | Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(bytes));
  } catch {
    throw badBody('expected UTF-8');
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw badBody(`not JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** Refuses a body, all of it, that another reader might understand otherwise. */
export function mustBeExact({ bodyText }: { bodyText: string }): void {
  const fault = exactnessFault(bodyText);
  if (fault !== undefined) throw badBody(fault);
}

/**
 * The members of an array that is a field of the body. One that JSON did not carry exactly does not stop the others:
 * an `UnreadableItem` stands in its place, and is rejected with what is wrong with it.
 *
 * @param values the array as it was parsed
 * @param itemOf where the item of a value is, with its key
 * @throws ProblemError when something around the array is not exact
 */
export function exactMembers(
  bodyText: string,
  field: string,
  values: readonly unknown[],
  itemOf: (value: unknown) => unknown = (value) => value,
): unknown[] {
  const fields = membersOf(bodyText);
  const twice = fields.find(({ name }, i) => fields.findIndex((other) => other.name === name) < i);
  if (twice !== undefined) throw badBody('stands twice', twice.name);
  const array = fields.find(({ name }) => name === field);
  const texts = array === undefined ? [] : membersOf(array.text);
  return values.map((value, i) => {
    const fault = exactnessFault(texts[i]?.text ?? '');
    return fault === undefined ? value : unreadable(fault, itemOf(value));
  });
}

function badBody(message: string, field?: string): ProblemError {
  const where = field === undefined ? 'body' : `body.${field}`;
  return new ProblemError('bad-request', `${where}: ${message}`, { errors: [{ field: where, message }] });
}
