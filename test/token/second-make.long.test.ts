import { createHash, createPublicKey, verify } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { TokenClient } from '../../src/token/client/token-client.ts';
import { newKeyId } from '../../src/token/key-id.ts';
import { noSecondToken, secondToken } from '../support/second-token.ts';
import { recordingLog } from '../support/silent-log.ts';
import { skipNote } from '../support/skip-note.ts';

describe.skipIf(noSecondToken !== undefined)(`a token that is not SoftHSM${skipNote(noSecondToken)}`, () => {
  it('checks secrets and signs with the keys of before, after each of two restarts of its host', async () => {
    const second = secondToken();
    const { config, configPath } = second.configure();
    const id = newKeyId('caller');
    const secret = Buffer.from('correct horse');
    const scope = Buffer.alloc(32);
    const algorithm = { scheme: 'ECDSA', hash: 'sha256' } as const;
    const text = Buffer.from('a document');
    const digest = createHash('sha256').update(text).digest();
    const running = async <T>(use: (client: TokenClient) => Promise<T>): Promise<T> => {
      const client = new TokenClient(config, configPath, recordingLog());
      try {
        await client.start();
        return await use(client);
      } finally {
        await client.stop();
      }
    };
    try {
      const made = await running(async (client) => ({
        check: await client.macKey.make(),
        publicKey: createPublicKey({ key: Buffer.from(await client.createKey(id, 'P-256')), format: 'der', type: 'spki' }),
        proof: { kind: 'PASSWORD', secret, scope, signs: true, ...(await client.makeMac(id, 'PASSWORD', secret, scope)) } as const,
      }));
      for (const round of [1, 2]) {
        await running(async (client) => {
          expect(await client.macKey.make(), `the MAC key in round ${round}`).toEqual(made.check);
          const wrong = { ...made.proof, secret: Buffer.from('wrong') };
          expect(await client.signWithProof(id, algorithm, [digest], { anyOf: [wrong] })).toEqual({ verified: false });
          const outcome = await client.signWithProof(id, algorithm, [digest], { anyOf: [made.proof] });
          const value = outcome.verified ? outcome.values[0] : undefined;
          expect(verify('sha256', text, { key: made.publicKey, dsaEncoding: 'ieee-p1363' }, value ?? Buffer.alloc(0))).toBe(true);
        });
      }
    } finally {
      second.remove();
    }
  });
});
