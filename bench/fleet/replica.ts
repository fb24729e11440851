import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { WorkerRole } from '../../src/worker-roles.ts';
import { type Cut, Link } from './link.ts';
import { Program } from './program.ts';

export interface ReplicaParts {
  readonly name: string;
  readonly folder: string;
  readonly lanesFile: string;
  readonly temporalAddress: string;
  /** through a link that can be cut; costs a little of each call to Temporal */
  readonly linked: boolean;
  readonly roles: readonly WorkerRole[];
}

/** One worker process of the fleet. */
export class Replica {
  readonly name: string;
  /** what it sent, for `onelane audit`; null: it holds no lanes, so it sends nothing */
  readonly sendLog: string | null;
  readonly #program: Program;
  readonly #link: Link | undefined;

  private constructor(name: string, sendLog: string | null, program: Program, link: Link | undefined) {
    this.name = name;
    this.sendLog = sendLog;
    this.#program = program;
    this.#link = link;
  }

  static async start(parts: ReplicaParts): Promise<Replica> {
    const { name, folder, lanesFile, temporalAddress, linked, roles } = parts;
    const link = linked ? await Link.open(temporalAddress) : undefined;
    const sendLog = join(folder, `${name}.sent.ndjson`);
    const profile = join(folder, `${name}.toml`);
    const address = link?.address ?? temporalAddress;
    await writeFile(profile, `[profile.default]\naddress = "${address}"\nnamespace = "default"\n`);
    try {
      const program = await Program.start(
        ['worker', '--config', lanesFile, '--send-log', sendLog, '--roles', roles.join(','), '--json'],
        { TEMPORAL_CONFIG_FILE: profile },
        join(folder, `${name}.log`),
        'ready',
      );
      return new Replica(name, roles.includes('lanes') ? sendLog : null, program, link);
    } catch (error) {
      await link?.close();
      throw error;
    }
  }

  get pid(): number {
    return this.#program.pid;
  }

  get isAlive(): boolean {
    return !this.#program.hasEnded;
  }

  async kill(): Promise<void> {
    this.#program.signal('SIGKILL');
    await this.#program.ended();
  }

  /** Asks it to give its lanes back and end; resolves when it has. */
  async stop(): Promise<void> {
    this.#program.signal('SIGTERM');
    await this.#program.ended();
  }

  freeze(): void {
    this.#program.signal('SIGSTOP');
  }

  thaw(): void {
    this.#program.signal('SIGCONT');
  }

  cut(cut: Cut): void {
    if (this.#link === undefined) throw new Error(`${this.name}: expected a linked replica`);
    this.#link.cut(cut);
  }

  restore(): void {
    this.#link?.restore();
  }

  async destroy(): Promise<void> {
    await this.#program.destroy();
    await this.#link?.close();
  }
}
