import { Client, Connection, defaultGrpcRetryOptions, makeGrpcRetryInterceptor } from '@temporalio/client';
import { type ClientConfigProfile, loadClientConfigProfile, toClientOptions } from '@temporalio/envconfig';
import type { NativeConnection } from '@temporalio/worker';
import { setTimeout as sleep } from 'node:timers/promises';
import { endsCallsWhenClosed } from './closed-calls.ts';
import { answers, DEV_FOLDER, isProcessAlive, readDevFile } from './dev/temporal/dev-file.ts';

export interface ConnectOptions {
  /** `process.env` by default */
  readonly env?: NodeJS.ProcessEnv;
  /** where `.onelane/dev.json` is looked for; the working directory by default */
  readonly folder?: string;
}

/** Which Temporal is meant, and why. Holds secrets (API key, TLS key): never print `profile`. */
export interface ConnectionTarget {
  readonly address: string;
  readonly addressFrom: string;
  readonly namespace: string;
  readonly namespaceFrom: string;
  readonly profile: ClientConfigProfile;
}

/** Temporal did not answer within five seconds. Names where it was looked for, and no secret. */
export class TemporalUnreachableError extends Error {
  override readonly name = 'TemporalUnreachableError';
  readonly address: string;
  readonly namespace: string;

  constructor(target: ConnectionTarget, reason: string) {
    super(
      `Temporal cannot be reached at ${target.address} (${target.addressFrom}), ` +
        `namespace ${target.namespace} (${target.namespaceFrom}): ${withoutSecrets(reason, target.profile)}`,
    );
    this.address = target.address;
    this.namespace = target.namespace;
  }
}

/** The SDK's configuration file or TEMPORAL_... variables cannot be used. */
export class TemporalConfigError extends Error {
  override readonly name = 'TemporalConfigError';
}

const DEFAULT_ADDRESS = '127.0.0.1:7233';
const DEFAULT_NAMESPACE = 'default';

/** Long enough for a handshake around the world; a person waits for it. */
const REACH_TIMEOUT_MS = 5_000;

/**
 * A client for publishing and asking. The caller closes its `connection`.
 *
 * @throws TemporalConfigError, TemporalUnreachableError
 */
export async function connectClient(options: ConnectOptions = {}): Promise<Client> {
  const target = await connectionTarget(options);
  const connectOptions = {
    ...sdkOptions(target),
    connectTimeout: REACH_TIMEOUT_MS,
    plugins: [endsCallsWhenClosed],
  };
  const connection = await reach(target, () => Connection.connect(connectOptions));
  return new Client({ connection, namespace: target.namespace });
}

/** Whoever waits for our own answer can't wait for long backoffs: about a second in all. */
const LAZY_ATTEMPTS = 4;

/**
 * A client for a service that outlives Temporal's absences: it connects when it is first used, and again whenever
 * Temporal is back. What is asked meanwhile fails soon. The caller closes its `connection`.
 *
 * @throws TemporalConfigError
 */
export async function lazyClient(options: ConnectOptions = {}): Promise<Client> {
  const target = await connectionTarget(options);
  const connection = Connection.lazy({
    ...sdkOptions(target),
    interceptors: [makeGrpcRetryInterceptor(defaultGrpcRetryOptions({ maxAttempts: LAZY_ATTEMPTS }))],
    plugins: [endsCallsWhenClosed],
  });
  return new Client({ connection, namespace: target.namespace });
}

/**
 * A connection for workers, and the namespace that they belong to. The caller closes it.
 *
 * @throws TemporalConfigError, TemporalUnreachableError
 */
export async function connectNative(
  options: ConnectOptions = {},
): Promise<{ connection: NativeConnection; namespace: string }> {
  const target = await connectionTarget(options);
  // Loaded only here: it brings the SDK's native core, which commands that only ask do without.
  const { NativeConnection } = await import('@temporalio/worker');
  const connectOptions = sdkOptions(target);
  const connection = await reach(target, () => NativeConnection.connect(connectOptions));
  return { connection, namespace: target.namespace };
}

/**
 * From the SDK's environment configuration: TEMPORAL_... variables over the profile of its file. Without an address
 * there, the `onelane dev` of this folder, if it is alive; else the default address.
 *
 * @throws TemporalConfigError
 */
export async function connectionTarget(options: ConnectOptions = {}): Promise<ConnectionTarget> {
  const env = options.env ?? process.env;
  const profile = loadProfile(env);
  const profileName = `profile ${env['TEMPORAL_PROFILE'] ?? 'default'} of Temporal's configuration file`;
  const from = (variable: string) => (env[variable] ? variable : profileName);
  const namespace = profile.namespace ?? DEFAULT_NAMESPACE;
  const namespaceFrom = profile.namespace === undefined ? 'the default' : from('TEMPORAL_NAMESPACE');
  const base = { namespace, namespaceFrom, profile };

  if (profile.address !== undefined)
    return { ...base, address: profile.address, addressFrom: from('TEMPORAL_ADDRESS') };
  const running = await readDevFile(options.folder ?? process.cwd());
  if (running && isProcessAlive(running.pid) && (await answers(running.address)))
    return { ...base, address: running.address, addressFrom: `from ${DEV_FOLDER}/dev.json` };
  return { ...base, address: DEFAULT_ADDRESS, addressFrom: 'the default; TEMPORAL_ADDRESS is not set' };
}

function loadProfile(env: NodeJS.ProcessEnv): ClientConfigProfile {
  // An empty variable is as good as none, as everywhere in a shell; the SDK would take it for an address.
  const set = Object.entries(env).flatMap(([name, value]) => (value ? [[name, value] as const] : []));
  try {
    return loadClientConfigProfile({ overrideEnvVars: Object.fromEntries(set) });
  } catch (error) {
    throw configError(error);
  }
}

/** Only the first line: a TOML error goes on to quote the lines around it, which may hold an API key. */
function configError(error: unknown): TemporalConfigError {
  const message = error instanceof Error ? error.message : String(error);
  const line = error instanceof Error && 'line' in error ? ` (line ${String(error.line)})` : '';
  return new TemporalConfigError(
    `Temporal's configuration cannot be used: ${message.split('\n', 1)[0] ?? ''}${line}`,
  );
}

/** Reads the files that the profile names, such as TLS certificates. */
function sdkOptions(target: ConnectionTarget) {
  try {
    const { apiKey, tls, metadata } = toClientOptions(target.profile).connectionOptions;
    return {
      address: target.address,
      ...(apiKey === undefined ? {} : { apiKey }),
      ...(tls === undefined ? {} : { tls }),
      ...(metadata === undefined ? {} : { metadata }),
    };
  } catch (error) {
    throw configError(error);
  }
}

async function reach<C extends { close(): Promise<void> }>(
  target: ConnectionTarget,
  connect: () => Promise<C>,
): Promise<C> {
  const connecting = connect();
  const settled = new AbortController();
  try {
    return await Promise.race([connecting, timeout(settled.signal)]);
  } catch (error) {
    // One that comes too late is nobody's.
    void connecting.then(
      (late) => late.close(),
      () => {},
    );
    throw new TemporalUnreachableError(target, error instanceof Error ? error.message : String(error));
  } finally {
    settled.abort();
  }
}

async function timeout(signal: AbortSignal): Promise<never> {
  await sleep(REACH_TIMEOUT_MS, undefined, { signal });
  throw new Error(`no answer within ${REACH_TIMEOUT_MS / 1000} s`);
}

function withoutSecrets(text: string, profile: ClientConfigProfile): string {
  const secrets = [profile.apiKey, ...Object.values(profile.grpcMeta ?? {})];
  return secrets.reduce<string>(
    (clean, secret) => (secret ? clean.replaceAll(secret, '[secret]') : clean),
    text,
  );
}
