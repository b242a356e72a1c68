import { z } from 'zod';
import type { Context } from '../operation.ts';
import { sadWords } from './activated-key.ts';
import { sadAnswer, SadAnswer } from './authorize.ts';
import { boundHashes } from './bound-hashes.ts';
import { credentialKey } from './credential.ts';
import { cscOperation } from './csc-operation.ts';
import { ClientData, CredentialId, exampleCredential, exampleHash, exampleSad, Hashes, HashOid, Sad } from './parameters.ts';

const common = { credentialID: CredentialId, SAD: Sad, clientData: ClientData };
const described = {
  method: 'credentials/extendTransaction',
  summary: 'Exchanges activation data for new data, for as many signatures as are left, of other hashes.',
  details:
    'Data that has signed some of its signatures, or none yet, is exchanged once. All data of a transaction ends 30 minutes after `credentials/authorize`.',
  answer: SadAnswer,
  words: sadWords,
} as const;

/** `credentials/extendTransaction` of version 1 (Cloud Signature Consortium API 1.0.4.0, clause 11.7). */
export const extendTransactionV1 = cscOperation({
  ...described,
  version: 'v1',
  request: z.strictObject({ ...common, hash: Hashes.describe('the hashes to be signed, base64') }),
  example: { credentialID: exampleCredential, SAD: exampleSad, hash: [exampleHash] },
  async run({ hash, ...asked }, context) {
    return extend({ ...asked, hashes: hash, oid: undefined }, context);
  },
});

/** `credentials/extendTransaction` of version 2 (2.0.0.2, clause 11.9). */
export const extendTransactionV2 = cscOperation({
  ...described,
  version: 'v2',
  request: z.strictObject({
    ...common,
    hashes: Hashes.describe('base64, as in credentials/authorize'),
    hashAlgorithmOID: HashOid.optional(),
  }),
  example: { credentialID: exampleCredential, SAD: exampleSad, hashes: [exampleHash], hashAlgorithmOID: '2.16.840.1.101.3.4.2.1' },
  async run({ hashAlgorithmOID, ...asked }, context) {
    return extend({ ...asked, oid: hashAlgorithmOID }, context);
  },
});

interface Asked {
  readonly credentialID: string;
  readonly SAD: string;
  readonly hashes: readonly Uint8Array[];
  readonly oid: string | undefined;
}

async function extend({ credentialID, SAD, hashes, oid }: Asked, context: Context): Promise<SadAnswer> {
  const digests = boundHashes(hashes, oid, context);
  const key = await credentialKey(credentialID, context);
  const { keys, caller } = context;
  keys.checkUsable(key, 'sign');
  const given = keys.activationData.given(SAD, caller.spkiSha256);
  return sadAnswer(await keys.activationData.extend(key, given, digests), keys.now());
}
