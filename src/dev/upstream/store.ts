import type { Statement } from 'node-sqlite3-wasm';
import { allArrivals, allEffects, openDatabase, type UpstreamTables } from './database.ts';
import { effectRecord, type EffectRecord, type Mode, type NewArrival, type NewEffect } from './records.ts';

/** In mode `keys` the database itself refuses a key's second effect. */
const ONE_EFFECT_PER_KEY = 'CREATE UNIQUE INDEX IF NOT EXISTS one_effect_per_key ON effects (key)';
const AS_MANY_AS_COME = 'DROP INDEX IF EXISTS one_effect_per_key';

const EFFECT_COLUMNS = ['id', 'key', 'method', 'path', 'bodySha256', 'body', 'atMs'] as const;
const ARRIVAL_COLUMNS = [
  'run',
  'monotonicMs',
  'wallMs',
  'key',
  'method',
  'path',
  'correlationId',
  'openRequests',
  'overQuota',
  'fault',
] as const;

/** What a running upstream does to its tables. Each write is in the file when its method returns. */
export interface UpstreamStore {
  /** Records an effect; where the key is known already, gives its effect instead. */
  commit(effect: NewEffect): { readonly first: boolean; readonly effect: EffectRecord };
  /** @returns the arrival's sequence */
  arrive(arrival: NewArrival): number;
  bodyCame(sequence: number, bodySha256: string): void;
  end(sequence: number, status: number | null, endedMs: number): void;
  /** How often an operation of the key arrived within the quota, in all runs. */
  arrivalsOf(key: string): number;
  firstEffectOf(key: string): EffectRecord | undefined;
  tables(): UpstreamTables;
  close(): Promise<void>;
}

/**
 * @param run this server process's name in the log
 * @param keyWindowMs how long a key is known in mode `keys`; null for ever
 * @throws Error when another upstream has the file open, or when it was written in another mode
 */
export async function openStore(
  file: string,
  mode: Mode,
  run: string,
  keyWindowMs: number | null = null,
): Promise<UpstreamStore> {
  const { db, close } = await openDatabase(file);
  const writtenIn = db.get('SELECT mode FROM runs LIMIT 1')?.['mode'] ?? mode;
  if (writtenIn !== mode) {
    await close();
    throw new Error(`${file}: expected a file written in mode ${mode}, but it was written in another mode`);
  }
  if (mode === 'keys') db.exec(keyWindowMs === null ? ONE_EFFECT_PER_KEY : AS_MANY_AS_COME);
  db.run('INSERT INTO runs (run, mode, startedMs) VALUES (?, ?, ?)', [run, mode, Date.now()]);

  const statements: Statement[] = [];
  const prepare = (sql: string): Statement => {
    const statement = db.prepare(sql);
    statements.push(statement);
    return statement;
  };
  const insertEffect = prepare(`${insertInto('effects', EFFECT_COLUMNS)} ON CONFLICT DO NOTHING`);
  const effectById = prepare('SELECT * FROM effects WHERE id = ?');
  const effectByKey = prepare('SELECT * FROM effects WHERE key = ? ORDER BY rowid LIMIT 1');
  const effectSince = prepare('SELECT * FROM effects WHERE key = ? AND atMs > ? ORDER BY rowid DESC LIMIT 1');
  const insertArrival = prepare(insertInto('arrivals', ARRIVAL_COLUMNS));
  const countArrivals = prepare(
    "SELECT count(*) AS n FROM arrivals WHERE key = ? AND overQuota = 0 AND method <> 'GET'",
  );
  const updateBody = prepare('UPDATE arrivals SET bodySha256 = ? WHERE sequence = ?');
  const updateEnd = prepare('UPDATE arrivals SET status = ?, endedMs = ? WHERE sequence = ?');

  return {
    commit: (effect) => {
      const known =
        mode === 'keys' && keyWindowMs !== null && effectSince.get([effect.key, effect.atMs - keyWindowMs]);
      if (known) return { first: false, effect: effectRecord.parse(known) };
      const first = insertEffect.run(EFFECT_COLUMNS.map((column) => effect[column])).changes === 1;
      const row = first ? effectById.get(effect.id) : effectByKey.get(effect.key);
      return { first, effect: effectRecord.parse(row) };
    },
    arrive: (arrival) =>
      Number(insertArrival.run(ARRIVAL_COLUMNS.map((column) => arrival[column])).lastInsertRowid),
    bodyCame: (sequence, bodySha256) => {
      updateBody.run([bodySha256, sequence]);
    },
    end: (sequence, status, endedMs) => {
      updateEnd.run([status, endedMs, sequence]);
    },
    arrivalsOf: (key) => Number(countArrivals.get(key)?.['n']),
    firstEffectOf: (key) => {
      const row = effectByKey.get(key);
      return row ? effectRecord.parse(row) : undefined;
    },
    tables: () => ({ effects: allEffects(db), arrivals: allArrivals(db) }),
    close: async () => {
      for (const statement of statements) statement.finalize();
      await close();
    },
  };
}

function insertInto(table: string, columns: readonly string[]): string {
  return `INSERT INTO ${table} (${columns.join(', ')}) VALUES (${columns.map(() => '?').join(', ')})`;
}
