import { z } from 'zod';
import { AdmissionSchema } from './admissions.ts';

/** Every kind of problem, by the last part of its `type`. Who writes a client switches on these. */
const PROBLEMS = {
  'bad-request': { status: 400, title: 'The request is not as documented' },
  'no-idempotency-key': { status: 400, title: 'The Idempotency-Key header is missing or malformed' },
  unauthorized: { status: 401, title: 'No valid key' },
  forbidden: { status: 403, title: 'Not allowed' },
  'not-found': { status: 404, title: 'Nothing is known under this name' },
  'method-not-allowed': { status: 405, title: 'This path does not take this method' },
  timeout: { status: 408, title: 'The request did not arrive in time' },
  refused: { status: 409, title: 'What was asked does not go with where it stands' },
  'too-large': { status: 413, title: 'The request is too large' },
  'wrong-media-type': { status: 415, title: 'The body has another media type than expected' },
  'expectation-failed': { status: 417, title: 'Something is expected that is not done here' },
  'batch-id-taken': { status: 422, title: 'The Idempotency-Key belongs to a batch with other content' },
  'batch-refused': { status: 422, title: 'The batch as a whole cannot be dispatched' },
  'messages-refused': { status: 422, title: 'Some messages were not admitted; the others stand' },
  'too-many-requests': { status: 429, title: 'Too many requests of this client' },
  unforeseen: { status: 500, title: 'Something that nobody foresaw' },
  away: { status: 503, title: 'Something that is needed is away' },
} as const;
export type ProblemKind = keyof typeof PROBLEMS;
export type ProblemStatus = (typeof PROBLEMS)[ProblemKind]['status'];

export const PROBLEM_TYPE = 'application/problem+json';

const FaultSchema = z.object({
  field: z.string().describe('where the fault stands, e.g. `body.lane` or `header.idempotency-key`'),
  item: z.int().min(0).exactOptional().describe('the position of the item that it is about, from 0'),
  message: z.string().describe('what was expected, and what came'),
});
export type RequestFault = z.infer<typeof FaultSchema>;

/** A problem document (RFC 9457). */
export const ProblemSchema = z
  .object({
    type: z.string().describe('`urn:onelane:problem:` and the kind of problem'),
    title: z.string(),
    status: z.int().min(400).max(599),
    detail: z.string(),
    errors: z.array(FaultSchema).exactOptional(),
    admissions: z.array(AdmissionSchema).exactOptional().describe('of all messages, where some were refused'),
  })
  .meta({ id: 'Problem', description: 'What went wrong (RFC 9457)' });
export type Problem = z.infer<typeof ProblemSchema>;

interface More {
  readonly errors?: Problem['errors'];
  readonly admissions?: Problem['admissions'];
  readonly headers?: Readonly<Record<string, string>>;
}

/** Ends a request with a problem document. */
export class ProblemError extends Error {
  override readonly name = 'ProblemError';
  readonly status: ProblemStatus;
  readonly headers: Readonly<Record<string, string>>;
  readonly document: Problem;

  constructor(kind: ProblemKind, detail: string, { errors, admissions, headers = {} }: More = {}) {
    super(detail);
    const { status, title } = PROBLEMS[kind];
    this.status = status;
    this.headers = headers;
    this.document = {
      type: `urn:onelane:problem:${kind}`,
      title,
      status,
      detail,
      ...(errors === undefined ? {} : { errors }),
      ...(admissions === undefined ? {} : { admissions }),
    };
  }
}

/** The entries of a route's documented responses for problems with these statuses. */
export function problemResponses(
  ...statuses: ProblemStatus[]
): Partial<Record<ProblemStatus, ProblemResponse>> {
  return Object.fromEntries(statuses.map((status) => [status, problemResponse(status)]));
}

type ProblemResponse = ReturnType<typeof problemResponse>;

function problemResponse(status: ProblemStatus) {
  const titles = Object.values(PROBLEMS).filter((problem) => problem.status === status);
  return {
    description: titles.map(({ title }) => title).join('; or: '),
    content: { [PROBLEM_TYPE]: { schema: ProblemSchema } },
  };
}
