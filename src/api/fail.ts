import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify';
import {
  type ZodFastifySchemaValidationError,
  hasZodFastifySchemaValidationErrors,
} from 'fastify-type-provider-zod';
import {
  BatchIdTakenError,
  BatchRefusedError,
  ItemRefusedError,
  LaneRefusedError,
  NamespaceNotReadyError,
  NotFoundError,
  NotStoredError,
  UnansweredError,
} from '../client.ts';
import { TemporalUnreachableError } from '../connection.ts';
import { GRPC, grpcCodeOf } from '../grpc.ts';
import { KeysFileError } from './keys-file.ts';
import { PROBLEM_TYPE, type ProblemKind, ProblemError, type RequestFault } from './problems.ts';

/** Long enough for a server to come back, short enough not to be waited for in vain. */
const RETRY_AFTER_SECONDS = 5;

/** Answers with the problem document for whatever was thrown. Nothing but the unforeseen is told to `say`. */
export function failWith(say: (line: string) => void) {
  return (error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply => {
    const problem = problemOf(error, request);
    if (problem.status >= 500) say(`${request.method} ${request.url}: ${inFull(error, problem)}`);
    return sendProblem(reply, problem);
  };
}

export function sendProblem(reply: FastifyReply, { status, headers, document }: ProblemError): FastifyReply {
  return reply.code(status).headers(headers).type(PROBLEM_TYPE).serializer(JSON.stringify).send(document);
}

function problemOf(error: unknown, request: FastifyRequest): ProblemError {
  if (error instanceof ProblemError) return error;
  if (hasZodFastifySchemaValidationErrors(error)) return invalid(error);
  if (error instanceof BatchRefusedError && error.isTooLarge)
    return new ProblemError('too-large', error.message);
  if (error instanceof NotFoundError) return new ProblemError('not-found', error.message);
  if (error instanceof BatchIdTakenError) return new ProblemError('batch-id-taken', error.message);
  if (error instanceof BatchRefusedError) return new ProblemError('batch-refused', error.message);
  if (error instanceof LaneRefusedError || error instanceof ItemRefusedError)
    return new ProblemError('refused', error.message);
  // Whoever asks has shown no key yet: where the file is, and what is wrong with it, is not theirs to know.
  if (error instanceof KeysFileError)
    return away('the keys of this service cannot be read; its log says why');
  if (AWAY.some((kind) => error instanceof kind)) return away(messageOf(error));
  const code = grpcCodeOf(error);
  if (code !== undefined && code !== GRPC.invalidArgument)
    return away(`Temporal did not answer (gRPC status ${code}); ask again, which does nothing twice`);
  return problemOfFastify(error, request) ?? new ProblemError('unforeseen', 'see the log of this service');
}

/** What somebody has to mend, or what mends itself. */
const AWAY = [NamespaceNotReadyError, NotStoredError, TemporalUnreachableError, UnansweredError] as const;

function away(detail: string): ProblemError {
  return new ProblemError('away', detail, { headers: { 'Retry-After': String(RETRY_AFTER_SECONDS) } });
}

function invalid(error: {
  validation: ZodFastifySchemaValidationError[];
  validationContext?: string | undefined;
}) {
  const context = error.validationContext ?? 'request';
  const errors = error.validation.map((one) => faultOf(one, CONTEXTS[context] ?? context));
  const kind = errors.some(({ field }) => field === 'header.idempotency-key')
    ? 'no-idempotency-key'
    : error.validation.every(holdsTooMuch)
      ? 'too-large'
      : 'bad-request';
  return new ProblemError(kind, errors.map(({ field, message }) => `${field}: ${message}`).join('; '), {
    errors,
  });
}

const CONTEXTS: Readonly<Record<string, string>> = {
  headers: 'header',
  querystring: 'query',
  params: 'path',
};

/** More items than a page may have. */
function holdsTooMuch({ keyword, instancePath }: ZodFastifySchemaValidationError): boolean {
  return keyword === 'too_big' && ['/items', '/messages'].includes(instancePath);
}

/** The validator tells where as a JSON pointer. */
function faultOf({ instancePath, message }: ZodFastifySchemaValidationError, context: string): RequestFault {
  const steps = instancePath.split('/').filter((step) => step !== '');
  const [list, position] = steps;
  const ofItem = (list === 'items' || list === 'messages') && position !== undefined;
  return {
    field: [context, ...steps].join('.'),
    message: message ?? 'not as documented',
    ...(ofItem ? { item: Number(position) } : {}),
  };
}

/** Fastify's own refusals, which come with a status. */
function problemOfFastify(error: unknown, request: FastifyRequest): ProblemError | undefined {
  if (!isFastifyError(error)) return undefined;
  const { statusCode = 500, message } = error;
  if (statusCode >= 500) return undefined;
  if (statusCode === 415) return wrongMediaType(request);
  return new ProblemError(KIND_OF_STATUS[statusCode] ?? 'bad-request', message);
}

function wrongMediaType({ headers, routeOptions }: FastifyRequest): ProblemError {
  const { consumes = ['application/json'] } = routeOptions.schema ?? {};
  const message = `expected ${consumes.join(' or ')}, got ${quotedType(headers['content-type'])}`;
  const field = 'header.content-type';
  return new ProblemError('wrong-media-type', `${field}: ${message}`, { errors: [{ field, message }] });
}

function quotedType(type = ''): string {
  return type === '' ? 'none' : `"${type}"`;
}

const KIND_OF_STATUS: Readonly<Record<number, ProblemKind>> = {
  408: 'timeout',
  413: 'too-large',
  415: 'wrong-media-type',
};

function isFastifyError(error: unknown): error is FastifyError {
  return error instanceof Error && 'statusCode' in error && typeof error.statusCode === 'number';
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function inFull(error: unknown, problem: ProblemError): string {
  if (error instanceof KeysFileError) return error.message;
  if (problem.status === 503) return problem.message;
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
