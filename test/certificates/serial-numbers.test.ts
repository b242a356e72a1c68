import { createHash } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { certifyAuthority, newIssuingAuthority, newRoot } from '../../src/certificates/new-authority.ts';
import { OcspResponders } from '../../src/certificates/ocsp/ocsp-responders.ts';
import { subjectName } from '../../src/certificates/subject.ts';
import { readCertificate } from '../../src/x509/certificate.ts';
import { CertificateAuthority } from '../../src/config/authority-config.ts';
import { Destruction } from '../../src/keys/destruction.ts';
import { storeKeyJournal } from '../../src/keys/store-key-journal.ts';
import { newKeyId } from '../../src/token/key-id.ts';
import { recordingLog } from '../support/silent-log.ts';
import { expectRandom } from '../support/random-octets.ts';
import { tokenAndStore, type TokenAndStore } from '../support/token-and-store.ts';
import { softwareAuthority } from './software-authority.ts';

let parts: TokenAndStore;
beforeAll(async () => {
  parts = await tokenAndStore({ servesOperator: true });
});
afterAll(async () => parts.end());

const name = (commonName: string): Uint8Array => subjectName({ country: 'FR', organizationName: 'Example', commonName });
const authority = (commonName: string) => ({ keyId: newKeyId('root'), keyType: 'P-256', name: name(commonName), years: 2 }) as const;

it('authorities have serial numbers of 16 random octets, new ones for each certificate', async () => {
  const { token } = parts;
  const serials: Uint8Array[] = [];
  for (let round = 0; round < 4; round += 1) {
    const root = await newRoot(token, authority('Root'));
    const issuing = await newIssuingAuthority(token, root, authority('Issuing'));
    const renewed = readCertificate(await certifyAuthority(token, root, issuing, { years: 1 }));
    const again = readCertificate(await certifyAuthority(token, root, root, { years: 1 }));
    serials.push(...[root.certificate, issuing.certificate, renewed, again].map(({ serialNumber }) => serialNumber));
  }
  for (const place of [0, 1, 2, 3])
    expectRandom(
      serials.filter((_, index) => index % 4 === place),
      16,
    );
});

it('OCSP responders have serial numbers of 16 random octets', async () => {
  const { token, store } = parts;
  const serials: Uint8Array[] = [];
  for (let round = 0; round < 4; round += 1) {
    const { issuer } = await softwareAuthority('P-256');
    const undoing = new Destruction(store, token, storeKeyJournal(store), { abandonedMs: 1000, configured: [] });
    const audit = {
      administer: async <T>(_entry: unknown, work: (steps: () => never[]) => Promise<{ value: T }>) => (await work(() => [])).value,
    };
    const tools = { store, token, undoing, audit, log: recordingLog() };
    const responders = new OcspResponders(tools, { signaturesPerSecond: 1000, atOnceMax: 4, waitingMax: 100 });
    const entry = CertificateAuthority.parse({ certificate: 'ca.pem', keyId: newKeyId('authority') });
    await responders.use(new Map([[`ca ${round}`, issuer]]), { [`ca ${round}`]: entry });
    await responders.stop();
    const signer = createHash('sha256').update(issuer.certificate.subjectPublicKeyInfo).digest('hex');
    const rows = await store.run('ocspResponders', { authority: `ca ${round}`, signer });
    serials.push(...rows.map(({ der }) => readCertificate(der).serialNumber));
  }
  expect(serials).toHaveLength(4);
  expectRandom(serials, 16);
});
