import { Presets, SingleBar } from 'cli-progress';

export interface Progress {
  readonly isShown: boolean;
  add(items: number): void;
  end(): void;
}

const HIDDEN: Progress = { isShown: false, add: () => undefined, end: () => undefined };

/** How far a publish has come, with its rate and the time left, on a terminal's stderr; nowhere else. */
export function startProgress(shown: 'none' | { readonly total: number | undefined }): Progress {
  if (shown === 'none' || !process.stderr.isTTY) return HIDDEN;
  const { total } = shown;
  const format =
    total === undefined
      ? '{value} items answered, {rate}/s'
      : '{bar} {value} of {total} items answered, {rate}/s, {eta_formatted} left';
  const bar = new SingleBar({ format, clearOnComplete: true, barsize: 24 }, Presets.shades_classic);
  let answered = 0;
  const begunAtMs = performance.now();
  bar.start(total ?? 0, 0, { rate: '-' });
  return {
    isShown: true,
    add(items) {
      const seconds = (performance.now() - begunAtMs) / 1_000;
      answered += items;
      bar.update(answered, { rate: (answered / seconds).toFixed(1) });
    },
    end: () => bar.stop(),
  };
}
