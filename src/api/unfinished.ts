import type { IncomingMessage } from 'node:http';
import type { FastifyInstance } from 'fastify';

/** For what is on its way when the service stops: seconds for a page, too little for most of a long upload. */
const GRACE_MS = 5_000;

/**
 * Cuts off, when the service stops, the requests that do not come to an end: whoever sends a byte now and then would
 * hold the stop for ever. Nothing of a request is used before all of it is there, so nothing is lost with it.
 */
export function cutUnfinishedOnClose(app: FastifyInstance): void {
  const unfinished = new Set<IncomingMessage>();
  app.server.on('request', (request) => {
    unfinished.add(request);
    request.once('close', () => unfinished.delete(request));
  });
  let cutting: NodeJS.Timeout | undefined;
  app.addHook('preClose', async () => {
    cutting = setInterval(() => {
      for (const request of unfinished) if (!request.complete) request.socket.destroy();
    }, GRACE_MS);
  });
  app.addHook('onClose', async () => clearInterval(cutting));
}
