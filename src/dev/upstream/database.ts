import { existsSync, rmdirSync } from 'node:fs';
import sqlite, { type Database } from 'node-sqlite3-wasm';
import { ownFile } from '../../own-file.ts';
import { arrivalRecord, effectRecord, type ArrivalRecord, type EffectRecord } from './records.ts';

const TABLES = `
  CREATE TABLE IF NOT EXISTS runs (run TEXT PRIMARY KEY, mode TEXT NOT NULL, startedMs REAL NOT NULL);
  CREATE TABLE IF NOT EXISTS effects (
    id TEXT PRIMARY KEY, key TEXT, method TEXT NOT NULL, path TEXT NOT NULL, bodySha256 TEXT NOT NULL,
    body BLOB NOT NULL, atMs REAL NOT NULL
  );
  CREATE INDEX IF NOT EXISTS effects_by_key ON effects (key);
  CREATE TABLE IF NOT EXISTS arrivals (
    sequence INTEGER PRIMARY KEY AUTOINCREMENT, run TEXT NOT NULL, monotonicMs REAL NOT NULL,
    wallMs REAL NOT NULL, key TEXT, method TEXT NOT NULL, path TEXT NOT NULL, correlationId TEXT,
    openRequests INTEGER NOT NULL, overQuota INTEGER NOT NULL, fault TEXT, bodySha256 TEXT, status INTEGER,
    endedMs REAL
  );
  CREATE INDEX IF NOT EXISTS arrivals_by_key ON arrivals (key);
`;

/**
 * WAL, held exclusively, is the only journal that this build of SQLite recovers after a SIGKILL: its rollback
 * journals are never played back, because the library takes its own lock folder for another writer's.
 * `synchronous` may be off, since a killed process leaves its writes with the kernel; only a power cut loses them.
 */
const PRAGMAS = ['locking_mode = EXCLUSIVE', 'journal_mode = WAL', 'synchronous = OFF'];

const TAKEN = 'expected a database file that nobody has open, but another upstream has it';

export interface OwnedDatabase {
  readonly db: Database;
  readonly close: () => Promise<void>;
}

/**
 * Opens an upstream's database file, which is made when absent, with its tables.
 *
 * @throws Error when another upstream has it open, or when it is no database of an upstream
 */
export async function openDatabase(file: string): Promise<OwnedDatabase> {
  const disown = await ownFile(file, TAKEN);
  let db: Database | undefined;
  try {
    // The library locks by making this folder, which outlives a SIGKILL and says nothing of its owner.
    if (existsSync(`${file}.lock`)) rmdirSync(`${file}.lock`);
    db = new sqlite.Database(file);
    for (const pragma of PRAGMAS) db.get(`PRAGMA ${pragma}`);
    db.exec(TABLES);
  } catch (error) {
    db?.close();
    await disown();
    throw new Error(`${file}: expected a database file of an upstream`, { cause: error });
  }
  return {
    db,
    close: async () => {
      // Elsewhere this build of SQLite can't open a WAL; a file that is closed in order anybody can read.
      db.get('PRAGMA journal_mode = DELETE');
      db.close();
      await disown();
    },
  };
}

export interface UpstreamTables {
  readonly effects: EffectRecord[];
  readonly arrivals: ArrivalRecord[];
}

/** Reads the file of an upstream that has stopped, or was killed. */
export async function readUpstreamFile(file: string): Promise<UpstreamTables> {
  const { db, close } = await openDatabase(file);
  try {
    return { effects: allEffects(db), arrivals: allArrivals(db) };
  } finally {
    await close();
  }
}

export function allEffects(db: Database): EffectRecord[] {
  return db.all('SELECT * FROM effects ORDER BY rowid').map((row) => effectRecord.parse(row));
}

export function allArrivals(db: Database): ArrivalRecord[] {
  return db.all('SELECT * FROM arrivals ORDER BY sequence').map((row) => arrivalRecord.parse(row));
}
