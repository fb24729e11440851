import { Command, InvalidArgumentError } from 'commander';
import { z } from 'zod';
import { SCOPES } from '../api/caller.ts';
import {
  KEYS_FILE,
  KeysFileError,
  type StoredKey,
  createKey,
  readKeys,
  revokeKey,
} from '../api/keys-file.ts';
import { CliError, EXIT } from './exit.ts';
import { print, table } from './print.ts';

const fileSchema = z.object({ file: z.string(), json: z.boolean().optional() });
const createSchema = fileSchema.extend({
  scopes: z.array(z.enum(SCOPES)),
  lanes: z.array(z.string()).optional(),
});

/** `onelane keys create|list|revoke`: who may use the HTTP service. */
export function keysCommand(): Command {
  const keys = new Command('keys').description('make, list and revoke the keys of the HTTP service');
  const create = new Command('create')
    .description('make a key, and print it; it is stored as a hash, so that nobody can print it again')
    .argument('<name>', 'the publisher of what it publishes, and the `by` of what it does')
    .requiredOption('--scopes <scopes>', `what it is good for, of: ${SCOPES.join(', ')}`, scopesArgument)
    .option(
      '--lanes <lanes>',
      'the lanes that it is good for, separated by commas; all when absent',
      listArgument,
    )
    .action(async (name: string, options: unknown) => createOne(name, createSchema.parse(options)));
  const list = new Command('list')
    .description('list the keys: their IDs, names, scopes and lanes, never what is sent as a key')
    .action((options: unknown) => listAll(fileSchema.parse(options)));
  const revoke = new Command('revoke')
    .description('make a key invalid, from the next request on')
    .argument('<id>', 'as `onelane keys list` shows it')
    .action(async (id: string, options: unknown) => revokeOne(id, fileSchema.parse(options)));
  for (const command of [create, list, revoke])
    keys.addCommand(
      command
        .option('--file <file>', 'where keys are kept', KEYS_FILE)
        .option('--json', 'print JSON')
        .exitOverride(),
    );
  return keys;
}

function scopesArgument(text: string): string[] {
  const scopes = listArgument(text);
  const unknown = scopes.find((scope) => !SCOPES.some((known) => known === scope));
  if (unknown !== undefined)
    throw new InvalidArgumentError(`Expected some of ${SCOPES.join(', ')}, got "${unknown}".`);
  return scopes;
}

function listArgument(text: string): string[] {
  const names = text.split(',').map((name) => name.trim());
  if (names.includes('')) throw new InvalidArgumentError('Expected names separated by commas.');
  return names;
}

async function createOne(
  name: string,
  { file, json, scopes, lanes }: z.infer<typeof createSchema>,
): Promise<void> {
  const { key, stored } = await usable(() => createKey(file, name, { scopes, lanes: lanes ?? 'all' }));
  print(json, { key, ...withoutHash(stored) }, () => key);
  console.error(`key ${stored.id} of "${name}" is kept as a hash in ${file}; it is not shown again`);
}

async function listAll({ file, json }: z.infer<typeof fileSchema>): Promise<void> {
  const keys = await usable(() => readKeys(file) ?? []);
  print(json, keys.map(withoutHash), () => (keys.length === 0 ? 'there is no key' : describe(keys)));
}

function describe(keys: readonly StoredKey[]): string {
  return table(
    ['id', 'name', 'scopes', 'lanes', 'created'],
    keys.map(({ id, name, scopes, lanes, createdAt }) => [
      id,
      name,
      scopes.join(','),
      lanes === 'all' ? 'all' : lanes.join(','),
      createdAt,
    ]),
  );
}

async function revokeOne(id: string, { file, json }: z.infer<typeof fileSchema>): Promise<void> {
  const revoked = await usable(() => revokeKey(file, id));
  if (revoked === undefined) throw new CliError(EXIT.notFound, `${file}: no key with the ID "${id}"`);
  print(json, withoutHash(revoked), () => `key ${id} of "${revoked.name}" is not valid any more`);
}

function withoutHash({ sha256: _hash, ...shown }: StoredKey) {
  return shown;
}

/** A file that can't be used is the user's to mend. */
async function usable<T>(use: () => T | Promise<T>): Promise<T> {
  try {
    return await use();
  } catch (error) {
    if (error instanceof KeysFileError) throw new CliError(EXIT.usage, error.message);
    throw error;
  }
}
