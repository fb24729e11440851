import { readFile } from 'node:fs/promises';

/** The kernel counts a process's time in ticks of this length wherever Node runs (USER_HZ is 100). */
const TICK_MS = 10;

/** What a process has used so far. */
export interface Usage {
  /** monotonic, ms */
  readonly atMs: number;
  readonly cpuMs: number;
  readonly rssMb: number;
}

/** Of another process, from Linux's `/proc`. */
export async function usageOf(pid: number): Promise<Usage> {
  const [stat, status] = await Promise.all([read(pid, 'stat'), read(pid, 'status')]);
  // proc(5): after the program's name in parentheses, utime and stime are the 12th and 13th fields.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const ticks = Number(fields[11]) + Number(fields[12]);
  const rssKb = Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]);
  return { atMs: performance.now(), cpuMs: ticks * TICK_MS, rssMb: rssKb / 1024 };
}

async function read(pid: number, name: string): Promise<string> {
  const file = `/proc/${pid}/${name}`;
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    throw new Error(`${file}: expected to be readable; this case needs Linux`, { cause: error });
  }
}
