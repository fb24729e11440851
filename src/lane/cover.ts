/** What a gate asks of the lease under which its lane is held. */
export interface Cover {
  /** whether a call that leaves now and takes `forMs` ends before anybody else could hold the lane */
  covers(forMs: number): boolean;
  /** asks the server to confirm the lease now; resolves whether or not it did */
  confirm(): Promise<void>;
}

/** For a process that is known to be the only one: a test, or a user's own. */
export const UNSHARED: Cover = { covers: () => true, confirm: () => Promise.resolve() };
