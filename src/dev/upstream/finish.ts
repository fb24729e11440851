import type { ServerResponse } from 'node:http';
import type { Ending } from './answer.ts';

/** Ends a request in the way that was decided. */
export function finish(
  ending: Ending,
  response: ServerResponse,
  closeListenerFor: (ms: number) => void,
): void {
  switch (ending.type) {
    case 'answer':
      response.writeHead(ending.status, ending.headers).end(ending.body);
      break;
    case 'reset':
      response.socket?.resetAndDestroy();
      break;
    case 'closed':
      closeListenerFor(ending.forMs);
      break;
    case 'silence':
      break;
  }
}
