import { WORKER_ROLES, type WorkerRole } from '../../src/worker-roles.ts';
import { Replica, type ReplicaParts } from './replica.ts';

/** The worker processes of a fleet, also those that are gone. */
export class Replicas {
  readonly #parts: Omit<ReplicaParts, 'name' | 'roles'>;
  readonly #all: Replica[] = [];
  #started = 0;

  constructor(parts: Omit<ReplicaParts, 'name' | 'roles'>) {
    this.#parts = parts;
  }

  async start(roles: readonly WorkerRole[] = WORKER_ROLES): Promise<Replica> {
    const replica = await Replica.start({ ...this.#parts, name: `replica-${++this.#started}`, roles });
    this.#all.push(replica);
    return replica;
  }

  get alive(): Replica[] {
    return this.#all.filter((replica) => replica.isAlive);
  }

  get sendLogs(): string[] {
    return this.#all.flatMap(({ sendLog }) => sendLog ?? []);
  }

  withPid(pid: number | undefined): Replica | undefined {
    return this.#all.find((replica) => replica.pid === pid);
  }

  async destroy(): Promise<void> {
    await Promise.all(this.#all.map((replica) => replica.destroy()));
  }
}
