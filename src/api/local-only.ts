import type { FastifyRequest } from 'fastify';
import { ProblemError } from './problems.ts';
import { hostOf } from './said-once.ts';

const LOOPBACK_HOST = /^(?:localhost|127\.0\.0\.1|\[::1\])(?::\d+)?$/i;

/** Whether nobody but this machine reaches what listens on this address. */
export function isLoopback(address: string): boolean {
  return ['localhost', '127.0.0.1', '::1'].includes(address);
}

/**
 * Without keys, whoever reaches us may do everything, and a browser on this machine reaches us for any page that it
 * shows. So a request must name us by a loopback name (or a foreign name was made to point here), and must not
 * come from a page that isn't ours.
 *
 * @throws ProblemError
 */
export function refuseForeign(request: FastifyRequest): void {
  const { method, headers } = request;
  const host = hostOf(request);
  const { origin } = headers;
  // As it stands: what a URL's parser makes of it may be somebody else's name.
  if (!LOOPBACK_HOST.test(host))
    throw foreign('host', `expected a loopback name, since no key is configured, got "${host}"`);
  if (origin !== undefined && origin.toLowerCase() !== `http://${host.toLowerCase()}`)
    throw foreign('origin', `no page but our own may ask, since no key is configured, got "${origin}"`);
  const site = headers['sec-fetch-site'];
  // Following a link to us only reads, and shows the answer to nobody but who clicked.
  const followsLink = method === 'GET' && headers['sec-fetch-mode'] === 'navigate';
  if ((site === 'cross-site' || site === 'same-site') && !followsLink)
    throw foreign('sec-fetch-site', `no page but our own may ask, since no key is configured, got "${site}"`);
}

function foreign(header: string, message: string): ProblemError {
  return new ProblemError('forbidden', `header.${header}: ${message}`, {
    errors: [{ field: `header.${header}`, message }],
  });
}
