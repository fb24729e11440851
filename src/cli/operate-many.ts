import type { Operated } from '../client.ts';
import { EXIT, type ExitCode } from './exit.ts';
import { nextSignal } from './signals.ts';

/**
 * Reports each item as soon as it is known, and the sums at the end. Ctrl-C stops it after the items that are under
 * way; the same command again goes on.
 */
export async function operateMany(
  operated: AsyncIterable<Operated>,
  done: 'redriven' | 'discarded',
  json: boolean | undefined,
): Promise<void> {
  let interrupted = false;
  void nextSignal().then(() => (interrupted = true));
  const seen: Operated[] = [];
  for await (const one of operated) {
    seen.push(one);
    if (!json) console.log(describe(one, done));
    if (interrupted) break;
  }
  const failed = seen.filter((one) => !one.done).length;
  if (json) console.log(JSON.stringify({ interrupted, done: seen.length - failed, failed, items: seen }));
  else
    console.log(
      `${seen.length - failed} ${done}, ${failed} not${interrupted ? '; interrupted: run it again' : ''}`,
    );
  process.exitCode = exitCodeOf(seen, interrupted);
}

function describe(one: Operated, done: string): string {
  return one.done ? `${one.key}: ${done}` : `${one.key}: not ${done}: ${one.reason}`;
}

function exitCodeOf(seen: readonly Operated[], interrupted: boolean): ExitCode {
  const failures = seen.flatMap((one) => (one.done ? [] : [one.why]));
  if (failures.includes('refused')) return EXIT.itemsRefused;
  if (failures.includes('unanswered')) return EXIT.pending;
  if (failures.includes('unknown')) return EXIT.notFound;
  return interrupted ? EXIT.failed : EXIT.ok;
}
