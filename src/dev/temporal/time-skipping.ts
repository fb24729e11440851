import { TestWorkflowEnvironment } from '@temporalio/testing';
import { endsCallsWhenClosed } from '../../closed-calls.ts';
import { ensureSearchAttributes } from '../../search-attributes.ts';
import { type FindOptions, findTimeSkippingServer } from './find.ts';

/** The namespace that the test server has, and its only one. */
const NAMESPACE = 'default';

/**
 * Starts the test server that skips time, with our search attributes registered. The caller ends it with `teardown()`.
 *
 * The SDK starts the server here, so that the environment knows how to skip time, and gives it no stdin to watch: when
 * this process is killed with SIGKILL, the server stays. There is no small way around that; it is only for tests.
 *
 * @throws TemporalNotFoundError
 */
export async function startTimeSkipping(options: FindOptions = {}): Promise<TestWorkflowEnvironment> {
  const { path } = await findTimeSkippingServer(options);
  const environment = await TestWorkflowEnvironment.createTimeSkipping({
    server: { executable: { type: 'existing-path', path } },
    plugins: [endsCallsWhenClosed],
  });
  try {
    await ensureSearchAttributes(environment.connection, NAMESPACE);
  } catch (error) {
    await environment.teardown();
    throw error;
  }
  return environment;
}
