import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Upstream, type UpstreamOptions, startUpstream } from '../dev/upstream/server.ts';

/** What the sample upstream does; a quota that no test reaches by accident, unless it says otherwise. */
export type SampleUpstreamOptions = Partial<Omit<UpstreamOptions, 'file'>>;

/**
 * Starts the sample upstream in this process, with a database in a folder for temporary files that `close` removes.
 * It is a receiver with a quota, a unique constraint and faults on demand: see docs/sample-upstream.md.
 */
export async function startSampleUpstream(options: SampleUpstreamOptions = {}): Promise<Upstream> {
  const folder = await mkdtemp(join(tmpdir(), 'onelane-upstream-'));
  const remove = () => rm(folder, { recursive: true, force: true });
  try {
    const upstream = await startUpstream({
      file: join(folder, 'upstream.db'),
      mode: 'keys',
      quota: { requests: 10_000, perMs: 1_000 },
      ...options,
    });
    const close = async () => {
      await upstream.close();
      await remove();
    };
    return { ...upstream, close };
  } catch (error) {
    await remove();
    throw error;
  }
}
