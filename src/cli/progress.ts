import { Presets, SingleBar } from 'cli-progress';

export interface Progress {
  readonly isShown: boolean;
  add(items: number): void;
  end(): void;
}

const HIDDEN: Progress = { isShown: false, add: () => undefined, end: () => undefined };

const SIGNALS = ['SIGINT', 'SIGTERM'] as const;

/**
 * How far a publish has come, with its rate and the time left, on a terminal's stderr; nowhere else. A signal ends the
 * process as ever, but only once the terminal is as it was: the bar keeps it from wrapping lines.
 */
export function startProgress(shown: 'none' | { readonly total: number | undefined }): Progress {
  if (shown === 'none' || !process.stderr.isTTY) return HIDDEN;
  const { total } = shown;
  const format =
    total === undefined
      ? '{value} items answered, {rate}/s'
      : '{bar} {value} of {total} items answered, {rate}/s, {left} left';
  const bar = new SingleBar({ format, clearOnComplete: true, barsize: 24 }, Presets.shades_classic);
  let answered = 0;
  const begunAtMs = performance.now();
  const end = (): void => {
    for (const signal of SIGNALS) process.removeListener(signal, onSignal);
    bar.stop();
  };
  const onSignal = (signal: NodeJS.Signals): void => {
    end();
    console.error(`stopped with ${answered} items answered; the same command again goes on`);
    process.kill(process.pid, signal);
  };
  for (const signal of SIGNALS) process.once(signal, onSignal);
  bar.start(total ?? 0, 0, { rate: '-', left: '-' });
  return {
    isShown: true,
    add(items) {
      const seconds = (performance.now() - begunAtMs) / 1_000;
      answered += items;
      const rate = answered / seconds;
      bar.update(answered, {
        rate: rate.toFixed(1),
        left: describeSeconds(((total ?? 0) - answered) / rate),
      });
    },
    end,
  };
}

function describeSeconds(seconds: number): string {
  return seconds < 100 ? `${Math.ceil(seconds)}s` : `${Math.ceil(seconds / 60)}m`;
}
