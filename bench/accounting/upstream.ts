import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { formatDuration } from '../../src/domain/duration.ts';
import { Door } from '../fleet/door.ts';
import { Program } from '../fleet/program.ts';
import { CHANCE } from './faults.ts';
import { type Kind, QUOTA } from './kinds.ts';
import type { LanePlan } from './plan.ts';

const LATENCY = '20ms';

/** The sample upstream of one lane, which can be killed and goes on where it was. */
export class Upstream {
  readonly kind: Kind;
  readonly door: Door;
  readonly #args: readonly string[];
  readonly #logFile: string;
  #program: Program;
  #starts = 1;

  private constructor(kind: Kind, door: Door, args: readonly string[], logFile: string, program: Program) {
    this.kind = kind;
    this.door = door;
    this.#args = args;
    this.#logFile = logFile;
    this.#program = program;
  }

  static async start(folder: string, kind: Kind, seed: number, plan: LanePlan): Promise<Upstream> {
    const own = (name: string) => join(folder, `upstream-${kind.lane}.${name}`);
    await writeFile(own('faults.json'), JSON.stringify(plan.faults));
    await writeFile(own('lookup-faults.json'), JSON.stringify(plan.lookupFaults));
    await writeFile(own('chance.json'), JSON.stringify(CHANCE));
    const args = ['upstream', '--db', own('db'), '--mode', kind.mode, '--latency', LATENCY, '--json'];
    args.push('--quota', `${QUOTA.requests}/${formatDuration(QUOTA.perMs)}`);
    if (kind.mode === 'keys' && kind.keyWindow !== null) args.push('--key-window', kind.keyWindow);
    if (kind.lookup) args.push('--count-lookups', '--lookup-faults', own('lookup-faults.json'));
    args.push('--faults', own('faults.json'), '--chance', own('chance.json'), '--seed', String(seed));
    const logFile = own('log');
    const program = await Program.start(args, {}, `${logFile}.1`, 'listening');
    const url = /"url":"([^"]+)"/.exec(await program.log())?.[1];
    if (url === undefined) throw new Error(`expected the upstream's URL in ${logFile}.1`);
    return new Upstream(kind, new Door(url, QUOTA), [...args, '--port', new URL(url).port], logFile, program);
  }

  async kill(): Promise<void> {
    await this.#program.destroy();
  }

  async startAgain(): Promise<void> {
    this.#program = await Program.start(this.#args, {}, `${this.#logFile}.${++this.#starts}`, 'listening');
  }

  async destroy(): Promise<void> {
    await this.#program.destroy();
  }
}
