import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { chanceFault, chanceSchema } from './chance.ts';
import { faultScriptSchema, scriptedFault, timerMs, type Fault } from './faults.ts';
import { finish } from './finish.ts';
import { Listener } from './listener.ts';
import { lookupScriptSchema } from './lookup-faults.ts';
import { Lookups } from './lookups.ts';
import { Operations } from './operations.ts';
import { answerRead, isOperation } from './reads.ts';
import { MODES, type ArrivalRecord, type EffectRecord } from './records.ts';
import { statsOf, type UpstreamStats } from './stats.ts';
import { openStore } from './store.ts';
import { QuotaDoor } from './window.ts';
import { Work } from './work.ts';

const optionsSchema = z.strictObject({
  /** the SQLite file, made when absent; an existing one goes on where it was */
  file: z.string().min(1),
  host: z.string().min(1).default('127.0.0.1'),
  /** 0: any */
  port: z.int().min(0).max(65_535).default(0),
  mode: z.enum(MODES),
  quota: z.strictObject({ requests: z.int().min(1), perMs: z.number().positive() }),
  /** from a request's headers to its answer */
  latencyMs: timerMs.default(0),
  /** how long mode `keys` knows a key again; for ever when absent */
  keyWindowMs: timerMs.optional(),
  /** lookups count against the quota, and are logged as arrivals */
  countLookups: z.boolean().default(false),
  lookupFaults: lookupScriptSchema.default({}),
  faults: faultScriptSchema.default({}),
  chance: z.strictObject({ seed: z.int(), faults: chanceSchema }).optional(),
});
export type UpstreamOptions = z.input<typeof optionsSchema>;
type Settings = z.output<typeof optionsSchema>;

/** A running sample upstream. What it tells is read from its database. */
export interface Upstream {
  readonly url: string;
  readonly port: number;
  readonly effects: () => EffectRecord[];
  readonly arrivals: () => ArrivalRecord[];
  readonly stats: () => UpstreamStats;
  /** Ends every connection and the database; what was not committed by then never is. */
  readonly close: () => Promise<void>;
}

/**
 * Starts the sample upstream: a receiver that keeps its own quota and its own uniqueness, misbehaves as it is
 * told to, and can be read afterwards.
 *
 * @throws Error when an option is wrong, the port is taken, or the file is another upstream's
 */
export async function startUpstream(options: UpstreamOptions): Promise<Upstream> {
  const parsed = optionsSchema.safeParse(options);
  if (!parsed.success) throw new Error(`upstream options:\n${z.prettifyError(parsed.error)}`);
  const settings = parsed.data;
  const { file, host, mode, quota, latencyMs } = settings;
  const run = randomUUID();
  const store = await openStore(file, mode, run, settings.keyWindowMs);
  const stopping = new AbortController();
  const handling = new Set<Promise<void>>();

  const lookups = new Lookups({ store, mode, faults: settings.lookupFaults });
  const closeListenerFor = (ms: number) => listener.closeFor(ms);
  const operations = new Operations({
    run,
    mode,
    latencyMs,
    store,
    door: new QuotaDoor(quota),
    work: new Work(store, mode, stopping.signal),
    faultFor: (key, n) => faultFor(settings, key, n),
    lookups,
    closeListenerFor,
    stopping: stopping.signal,
  });
  const listener = new Listener((request, response) => {
    const isLookup = Lookups.is(request);
    if (isLookup && !settings.countLookups)
      return finish(lookups.endingOf(Lookups.keyOf(request)), response, closeListenerFor);
    if (!isLookup && !isOperation(request)) return answerRead({ store, mode, quota }, request, response);
    // A fault of the referee itself is not caught: it must end the process rather than look like an answer.
    const handled = operations.handle(request, response).finally(() => handling.delete(handled));
    handling.add(handled);
  });

  let port: number;
  try {
    port = await listener.listen(settings.port, host);
  } catch (error) {
    await store.close();
    const why = error instanceof Error ? error.message : String(error);
    throw new Error(`cannot listen on ${host}:${settings.port}: ${why}`, { cause: error });
  }
  return {
    url: `http://${host}:${port}`,
    port,
    effects: () => store.tables().effects,
    arrivals: () => store.tables().arrivals,
    stats: () => {
      const { arrivals, effects } = store.tables();
      return statsOf(arrivals, effects, quota, mode);
    },
    close: async () => {
      stopping.abort();
      await listener.close();
      await Promise.allSettled(handling);
      await store.close();
    },
  };
}

/** A key that has a script is left alone by chance, so that its story is the one that was written. */
function faultFor({ faults, chance }: Settings, key: string, n: number): Fault | undefined {
  // Own properties only: a key may be called `constructor`.
  const script = Object.hasOwn(faults, key) ? faults[key] : undefined;
  if (script) return scriptedFault(script, n);
  return chance && chanceFault(chance.faults, chance.seed, key, n);
}
