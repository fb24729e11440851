import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { blankSecrets } from '../../src/lane/blank-secrets.ts';

describe('a text that will be stored', () => {
  it('holds no secret any more, however often it was echoed', () => {
    assert.equal(blankSecrets('key=s3cret; again s3cret', ['s3cret']), 'key=[secret]; again [secret]');
  });

  for (const [name, echoed] of [
    ['as it is', (secret: string) => secret],
    ['in JSON', (secret: string) => JSON.stringify(secret)],
    ['in JSON with its slashes escaped', (secret: string) => JSON.stringify(secret).replaceAll('/', '\\/')],
    ['in a URL', encodeURIComponent],
    [
      'in a URL in lower case',
      (secret: string) => encodeURIComponent(secret).replace(/%../g, (octet) => octet.toLowerCase()),
    ],
  ] as const)
    it(`holds none that was echoed ${name}`, () => {
      const secret = 'ab/cd+"ef\\gh==';
      const blanked = blankSecrets(`before ${echoed(secret)} after`, [secret]);
      assert.match(blanked, /^before "?\[secret\]"? after$/);
    });

  it('holds no part of a secret that contains another', () => {
    for (const secrets of [
      ['token', 'token-of-admin'],
      ['token-of-admin', 'token'],
    ])
      assert.equal(blankSecrets('token-of-admin, token', secrets), '[secret], [secret]');
  });

  it('keeps what is no secret, also what would mean something in a pattern', () => {
    assert.equal(blankSecrets('a.b* $& 1234', ['a*b.', '....']), 'a.b* $& 1234');
    assert.equal(blankSecrets('pay $1 now', ['[$1]']), 'pay $1 now');
    assert.equal(blankSecrets('x [$1] y', ['[$1]']), 'x [secret] y');
  });

  it('keeps values shorter than four characters, which stand in ordinary text by chance', () => {
    assert.equal(blankSecrets('a banana', ['', 'a', 'ban']), 'a banana');
  });

  it('any text around any secrets comes out without them', () => {
    const anySecret = fc.stringMatching(/^[A-Z0-9+/=_-]{4,20}$/);
    fc.assert(
      fc.property(
        fc.array(anySecret, { minLength: 1, maxLength: 4 }),
        fc.array(fc.nat(3)),
        (secrets, order) => {
          const echoed = order.map((i) => secrets[i % secrets.length]).join(', ');
          const blanked = blankSecrets(`header: ${echoed}`, secrets);
          for (const secret of secrets) assert(!blanked.includes(secret), blanked);
        },
      ),
    );
  });
});
