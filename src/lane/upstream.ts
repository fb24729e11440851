import type { LaneConfig } from '../domain/policy.ts';
import type { CallEnd } from '../domain/verdict.ts';
import { type CallObserver, UpstreamConnection, type UpstreamRequest } from './upstream-connection.ts';

/** Which item's which attempt a call is. */
export interface CallOf {
  readonly key: string;
  readonly attempt: number;
}

/** What a lane's calls go to. It never retries, and tells apart every way in which a call can end. */
export interface Upstream {
  call(
    request: UpstreamRequest,
    observer: CallObserver,
    of: CallOf,
  ): Promise<CallEnd | { readonly kind: 'kept' }>;
  close(): void;
}

/** Makes the upstream of a lane, by the lane's full name. */
export type Reach = (name: string, config: LaneConfig) => Upstream;

export const overHttp: Reach = (_name, { baseUrl }) => new UpstreamConnection(baseUrl);
