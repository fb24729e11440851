import assert from 'node:assert/strict';
import { appendFileSync, existsSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { SendLogError, openSendLog, ownSendLog } from '../../src/lane/send-log.ts';
import { folder, leaving, newFile, read, terms, throttled, writer } from './send-log-samples.ts';

/** What two processes write to one file, the second after something has happened to it. */
const twoProcesses = (between: (file: string) => void): string => {
  const file = newFile();
  const first = openSendLog(file, writer);
  first.opened(terms).left(leaving(0));
  first.close();
  between(file);
  openSendLog(file, { ...writer, process: 'next' })
    .opened({ ...terms, epoch: 4 })
    .left(leaving(5_000));
  return file;
};

describe('a send log that is gone on with', () => {
  it('keeps what was there', () => {
    const file = twoProcesses(() => undefined);
    const { nonces, calls, openings } = read(file);
    assert.equal(new Set(nonces).size, 2);
    assert.deepEqual(
      openings.map(({ process, epoch }) => [process, epoch]),
      [
        ['worker@here', 3],
        ['next', 4],
      ],
    );
    assert.equal(new Set(calls.map(({ id }) => id)).size, 2);
  });

  it('goes on behind a torn line, and tells of it', () => {
    const file = twoProcesses((torn) => appendFileSync(torn, '{"answeredAt":17'));
    assert.equal(read(file).calls.length, 2);
    writeFileSync(file, readFileSync(file, 'utf8').replace('{"answeredAt":17\n', ''));
    assert.throws(() => read(file), /^DoctoredLogError: torn: tells of a torn line/);
  });

  it('goes on behind a last line that lacks only its line break', () => {
    const file = twoProcesses((torn) => truncateSync(torn, readFileSync(torn).length - 1));
    assert.equal(read(file).calls.length, 2);
  });

  it('goes on behind a letter that was cut in two', () => {
    const file = twoProcesses((torn) => appendFileSync(torn, Buffer.from('{"é').subarray(0, 3)));
    assert.equal(read(file).calls.length, 2);
  });

  it('goes on behind processes that died while they wrote their first line', () => {
    const file = newFile();
    openSendLog(file, writer).close();
    for (const torn of ['{"at":17', '{', '{"at":17,"format"']) {
      writeFileSync(file, torn);
      openSendLog(file, writer).opened(terms).left(leaving(0));
      assert.equal(read(file).calls.length, 1, torn);
    }
  });

  it('of more than its tail goes on', () => {
    const file = newFile();
    const first = openSendLog(file, writer);
    const lane = first.opened(terms);
    for (let i = 0; i < 200; i++) lane.left(leaving(i));
    first.close();
    assert(readFileSync(file).length > 64 * 1024);
    openSendLog(file, writer);
    assert.equal(read(file).calls.length, 200);
  });

  for (const [name, content] of [
    ['text', 'hello'],
    ['lines', 'owner: release-team\nlanes: {}\n'],
    ['a long file', 'x'.repeat(100_000)],
  ] as const)
    it(`${name} is left alone`, () => {
      const file = newFile();
      openSendLog(file, writer).close();
      writeFileSync(file, content);
      assert.throws(() => openSendLog(file, writer), {
        name: 'SendLogError',
        message: `${file}: cannot be gone on with: expected a send log or an empty file, got something else`,
      });
      assert.equal(readFileSync(file, 'utf8'), content);
    });
});

describe('a send log that can’t be written', () => {
  it('is refused at the start, with the reason', () => {
    assert.throws(() => openSendLog(folder, writer), {
      name: 'SendLogError',
      message: /cannot be opened: EISDIR/,
    });
  });

  it('lets no call leave, and loses no call’s outcome', () => {
    const log = openSendLog(newFile(), writer);
    const lane = log.opened(terms);
    const entry = lane.left(leaving(0));
    log.close();
    entry.answered(1);
    entry.ended(throttled(2));
    assert.throws(() => lane.left(leaving(3)), SendLogError);
    assert.throws(() => log.opened({ ...terms, epoch: 9 }).left(leaving(3)), /is closed/);
  });

  if (existsSync('/dev/full'))
    it('on a full device is refused', () => {
      assert.throws(() => openSendLog('/dev/full', writer), { name: 'SendLogError', message: /ENOSPC/ });
    });
});

describe('a send log that a worker owns', () => {
  it('is refused to a second writer, which leaves no line in it, and is free once it is closed', async () => {
    const file = newFile();
    const first = await ownSendLog(file, writer);
    const before = readFileSync(file, 'utf8');

    await assert.rejects(ownSendLog(file, { ...writer, process: 'second' }), {
      name: 'SendLogError',
      message: `${file}: expected a send log of its own for each process, but another one is writing to it`,
    });
    assert.equal(readFileSync(file, 'utf8'), before);

    await first.close();
    await (await ownSendLog(file, writer)).close();
    assert.equal(read(file).nonces.length, 2);
  });

  it('is free when it could not be opened', async () => {
    await assert.rejects(ownSendLog(folder, writer), { name: 'SendLogError' });
    await assert.rejects(ownSendLog(folder, writer), { name: 'SendLogError', message: /EISDIR/ });
  });
});
