import { parseLaneName } from '../domain/ids.ts';
import { ProblemError } from './problems.ts';

export const SCOPES = ['publish', 'read', 'operate'] as const;
export type Scope = (typeof SCOPES)[number];

/** What a caller may do, and where. A lane's name here stands for its partitions, too. */
export interface Grant {
  readonly scopes: readonly Scope[];
  readonly lanes: 'all' | readonly string[];
}

/** Who makes a request: the publisher of what it publishes, and the `by` of what it does. */
export class Caller {
  readonly name: string;
  /** what requests are counted by */
  readonly id: string;
  readonly #grant: Grant;

  constructor(name: string, id: string, grant: Grant) {
    this.name = name;
    this.id = id;
    this.#grant = grant;
  }

  has(scope: Scope): boolean {
    return this.#grant.scopes.includes(scope);
  }

  /** @param lane its full name, e.g. `releases` or `releases/acme` */
  may(scope: Scope, lane: string): boolean {
    const { lanes } = this.#grant;
    return (
      this.has(scope) && (lanes === 'all' || lanes.includes(lane) || lanes.includes(parseLaneName(lane).lane))
    );
  }

  /** Whether nothing of this kind is kept from it, whatever the lane. */
  mayEverywhere(scope: Scope): boolean {
    return this.has(scope) && this.#grant.lanes === 'all';
  }

  /** @throws ProblemError */
  mustBeAllowedTo(scope: Scope, lane: string): void {
    if (!this.may(scope, lane))
      throw new ProblemError('forbidden', `the key "${this.name}" may not ${scope} in lane "${lane}"`);
  }
}

/** Whoever reaches a service that listens on loopback only is who runs it. */
export function everythingAllowed(name: string): Caller {
  return new Caller(name, 'local', { scopes: SCOPES, lanes: 'all' });
}
