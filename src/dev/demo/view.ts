import type { WriteStream } from 'node:tty';
import { frame, progressLine, seconds } from './frame.ts';
import { happeningsIn } from './happenings.ts';
import type { Observation } from './observe.ts';
import type { Story } from './scenario.ts';

/** How a run is watched. */
export interface View {
  /** one or more lines that stay */
  say(text: string): void;
  /** the newest observation, about once a second */
  show(observation: Observation, stories: readonly Story[]): void;
}

/** Plain lines, for files, pipes and CI: what happened since the last look, and now and then the counts. */
export function plainView(write: (line: string) => void): View {
  /** A call's line is told once its answer is known, so the first of them may still change. */
  const told = new Set<string>();
  let countsToldMs = -Infinity;
  return {
    say: write,
    show: (observation, stories) => {
      const { nowMs, startedMs, calls, workerLines } = observation;
      const over = calls.filter(({ endedMs }) => endedMs !== null);
      for (const { atMs, text } of happeningsIn(over, workerLines, stories)) {
        const line = `${seconds(atMs - startedMs).padStart(7)}  ${text}`;
        if (!told.has(line)) write(line);
        told.add(line);
      }
      if (nowMs - countsToldMs < COUNTS_EVERY_MS) return;
      countsToldMs = nowMs;
      write(progressLine(observation));
    },
  };
}

const COUNTS_EVERY_MS = 5_000;

/** Redrawn in place on a terminal. */
export function liveView(terminal: Pick<WriteStream, 'write' | 'columns'>): View {
  /** lines of the frame that stands above the cursor */
  let drawn = 0;
  return {
    say: (text) => {
      drawn = 0;
      terminal.write(`${text}\n`);
    },
    show: (observation, stories) => {
      // A line that wrapped would take two rows, and the next frame would begin in the wrong one.
      const lines = frame(observation, stories).map((line) =>
        line.slice(0, Math.max(1, terminal.columns - 1)),
      );
      const home = drawn === 0 ? '' : `\u001B[${drawn}F\u001B[0J`;
      terminal.write(`${home}${lines.join('\n')}\n`);
      drawn = lines.length;
    },
  };
}
