import type { FastifyRequest } from 'fastify';
import { ProblemError, type ProblemKind } from './problems.ts';

/**
 * Refuses what two readers of one request might understand differently, and what would make us read a body otherwise
 * than its sender meant it.
 *
 * @throws ProblemError
 */
export function mustBeClear({ raw, headers }: FastifyRequest): void {
  const hosts = raw.headersDistinct['host'] ?? [];
  if (hosts.length !== 1 && (hosts.length > 1 || raw.httpVersion !== '1.0'))
    throw fault('bad-request', 'host', `expected one, got ${hosts.length}`);
  const { 'content-encoding': content, 'transfer-encoding': transfer } = headers;
  if (content !== undefined && content.toLowerCase() !== 'identity')
    throw fault('wrong-media-type', 'content-encoding', `expected none, got "${content}"`);
  if (transfer !== undefined && transfer.toLowerCase() !== 'chunked')
    throw fault('bad-request', 'transfer-encoding', `expected chunked, or none, got "${transfer}"`);
}

/** Whom a request is for: where its target names a host, that goes before the header. */
export function hostOf({ raw: { url = '' }, headers: { host = '' } }: FastifyRequest): string {
  return /^[a-z][a-z\d+.-]*:\/\/([^/?#]*)/i.exec(url)?.[1] ?? host;
}

function fault(kind: ProblemKind, header: string, message: string): ProblemError {
  const field = `header.${header}`;
  return new ProblemError(kind, `${field}: ${message}`, { errors: [{ field, message }] });
}
