import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { send } from '../../support/api.ts';
import { repetitions } from '../../support/repetitions.ts';
import {
  authorised,
  authorizeRequest,
  cscPath,
  extendRequest,
  json,
  newCredential,
  oids,
  refusalOf,
  sha256Of,
  signDocRequest,
  signHashRequest,
  versions,
} from './csc-caller.ts';
import { changes, mutated } from './mutated-request.ts';

const client = 'other';
const hashes = [sha256Of('x')];

it('whatever is changed in a request that was right, the answer is one of the standard and no fault', async () => {
  const key = await newCredential(client);
  const told = new Set<string>();
  const property = fc.asyncProperty(fc.constantFrom(...versions), fc.nat(5), changes, async (version, which, asked) => {
    // The right PIN, which also sets failures back before they lock the key.
    const sad = await authorised(client, key.id, key, { hashes });
    const requests: [method: string, request: object][] = [
      ['credentials/authorize', authorizeRequest(version, key.id, key, { hashes })],
      ['credentials/extendTransaction', extendRequest(version, key.id, sad, hashes)],
      ['signatures/signHash', signHashRequest(version, key.id, sad, hashes)],
      ['credentials/info', { credentialID: key.id, certificates: 'chain', certInfo: true, authInfo: true }],
      ['credentials/list', { maxResults: 2 }],
      version === 'v1'
        ? ['signatures/timestamp', { hash: hashes[0], hashAlgo: oids.sha256, nonce: '01' }]
        : ['signatures/signDoc', signDocRequest(key.id, sad, ['x'])],
    ];
    const [method, request] = requests[which] ?? ['', {}];
    const answer = await send(client, { path: cscPath(version, method), headers: json }, mutated(request, asked));
    const words = refusalOf(answer);
    told.add(words.split(':')[0] ?? '');
    expect(words).toMatch(/^(?:200$|400 (?:invalid_request|invalid_pin|invalid_otp|invalid_authentication_data): .)/);
  });
  await fc.assert(property, { numRuns: repetitions(600, 150) });
  expect([...told]).toEqual(expect.arrayContaining(['200', '400 invalid_request']));
});
