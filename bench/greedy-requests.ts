/** What a tenant may ask for at worst, within its limits. */
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { z } from 'zod';
import { writePdf } from './pdf-file.ts';
import type { Quickstart } from './quickstart-description.ts';
import type { Reference, ServiceClient } from './service-client.ts';
import { deleteStored, upload } from './stored-file.ts';
import { strangersChain } from './strangers-certificates.ts';

/** One kind of load: so many connections repeat the request. */
export interface GreedyKind {
  readonly connections: number;
  /** Prepares the load. */
  prepare(tenant: GreedyTenant): Promise<GreedyRequest>;
}

/** A request of the API with its body, or work of its own. */
export type GreedyRequest = { readonly operation: string; readonly body: Buffer } | { readonly repeat: () => Promise<void> };

export interface GreedyTenant {
  readonly quickstart: Quickstart;
  readonly service: ServiceClient;
}

const sha256 = '2.16.840.1.101.3.4.2.1';
const raw = { rawSignature: {} };
const megabyte = 1e6;

function sign({ reference, password }: Reference, parameters: object, inputDocuments: readonly object[]): GreedyRequest {
  return request('signature/sign', { keyReference: { reference, password }, parameters, inputDocuments });
}

function request(operation: string, body: object): GreedyRequest {
  return { operation, body: Buffer.from(JSON.stringify(body)) };
}

const small = { ID: 'd', base64Data: { base64Value: randomBytes(768).toString('base64') } };

export const greedyKinds = {
  'checkKey, as often as allowed': {
    connections: 128,
    prepare: async ({ service }) => request('pki/checkKey', { keyReference: { reference: (await service.createKey()).reference } }),
  },
  'signatures, as often as allowed': {
    connections: 128,
    prepare: async ({ service }) => sign(await service.createKey(), raw, [small]),
  },
  'signatures of 100 digests': {
    connections: 60,
    async prepare({ service }) {
      const digest = (index: number): object => ({
        ID: `d${index}`,
        digest: { digestAlgOID: sha256, digestValue: createHash('sha256').update(String(index)).digest('base64') },
      });
      const digests = Array.from({ length: 100 }, (_, index) => digest(index));
      return sign(await service.createKey(), raw, digests);
    },
  },
  'new keys': {
    connections: 60,
    prepare: async ({ service }) => ({
      async repeat() {
        await service.createKey();
      },
    }),
  },
  "strangers' RSA keys of 16,384 bits": { connections: 30, prepare: async () => Promise.resolve(preSign(16_384, 64)) },
  "strangers' RSA keys of 8,192 bits": { connections: 30, prepare: async () => Promise.resolve(preSign(8192, 32)) },
  'PDF files of 20 MB, whose signatures are verified': { connections: 8, prepare: verifiedPdf },
  'JSON bodies of 24 MB': {
    connections: 7,
    prepare: async ({ service }) =>
      sign(await service.createKey(), raw, [{ ID: 'd', base64Data: { base64Value: randomBytes(18 * megabyte).toString('base64') } }]),
  },
  'uploads of 20 MB': { connections: 8, prepare: uploads },
  'XPath filters of an existing signature, wrong password': {
    connections: 8,
    prepare: async ({ service }) => costlyXml({ ...(await service.createKey()), password: 'not the password' }),
  },
  'XPath filters of an existing signature': {
    connections: 8,
    prepare: async ({ service }) => costlyXml(await service.createKey()),
  },
  // Last: it leaves a large heap, through which the garbage collector goes slowly for a while.
  'bodies in chunks of an octet': {
    connections: 8,
    prepare: async ({ quickstart, service }) => Promise.resolve(tinyChunks(quickstart, service)),
  },
} as const satisfies Readonly<Record<string, GreedyKind>>;
export type GreedyName = keyof typeof greedyKinds;

/** An existing signature whose references hold, and whose filters compare the whole text for each node. */
function costlyXml(key: Reference): GreedyRequest {
  const lines = Array.from({ length: 3000 }, (_, index) => `<line>${String(index).padStart(20, 'a')}</line>`).join('');
  // In canonical form, so that its digest is that of its bytes.
  const part = `<part Id="part">${lines}</part>`;
  const digest = createHash('sha256').update(part).digest('base64');
  const filter = 'string-length(translate(string(/),"a","b"))&gt;=0';
  const algorithm = (name: string, of: string, content = ''): string => `<ds:${name} Algorithm="${of}">${content}</ds:${name}>`;
  const transform = algorithm('Transform', 'http://www.w3.org/TR/1999/REC-xpath-19991116', `<ds:XPath>${filter}</ds:XPath>`);
  const method = algorithm('DigestMethod', 'http://www.w3.org/2001/04/xmlenc#sha256');
  const transforms = `<ds:Transforms>${transform}</ds:Transforms>`;
  const reference = `<ds:Reference URI="#part">${transforms}${method}<ds:DigestValue>${digest}</ds:DigestValue></ds:Reference>`;
  const methods =
    algorithm('CanonicalizationMethod', 'http://www.w3.org/TR/2001/REC-xml-c14n-20010315') +
    algorithm('SignatureMethod', 'http://www.w3.org/2001/04/xmldsig-more#rsa-sha256');
  const value = `<ds:SignatureValue>${randomBytes(256).toString('base64')}</ds:SignatureValue>`;
  const signature = `<ds:Signature xmlns:ds="http://www.w3.org/2000/09/xmldsig#"><ds:SignedInfo>${methods}${reference.repeat(60)}</ds:SignedInfo>${value}</ds:Signature>`;
  const base64Value = Buffer.from(`<doc>${part}${signature}</doc>`).toString('base64');
  return sign(key, { XP7Signature: { XP7Format: 'EXXP_7', validateSignatures: true } }, [{ ID: 'd', base64Data: { base64Value } }]);
}

function preSign(keyBits: number, exponentBits: number): GreedyRequest {
  return request('signature/remotePreSign', {
    ...strangersChain(keyBits, exponentBits),
    parameters: { XP7Signature: { XP7Format: 'CXP_7', XP7Providers: { CXP7Parameters: { detached: true } } } },
    inputDocuments: [small],
  });
}

const Stored = z.object({
  evidenceObject: z.object({ document: z.object({ FTMData: z.object({ fileID: z.string(), fileSize: z.number() }) }) }),
});

/** A body whose framing is many times its content, on connections of their own since it is refused. */
function tinyChunks(quickstart: Quickstart, service: ServiceClient): GreedyRequest {
  const { hostname, port, pathname } = service.urlOf('signature/sign');
  const { certificate, key } = quickstart.clients.app;
  const to = { host: hostname, port: Number(port), cert: readFileSync(certificate), key: readFileSync(key) };
  const ca = readFileSync(quickstart.caCertificate);
  const head = `POST ${pathname} HTTP/1.1\r\nHost: ${hostname}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`;
  const sent = Buffer.from(`${head}${'1\r\n \r\n'.repeat(250_000)}`);
  return {
    async repeat() {
      const socket = connect({ ...to, ca }).on('error', () => socket.destroy());
      socket.resume().write(sent);
      await once(socket, 'close');
    },
  };
}

/** A signed PDF in the transfer store, which is signed once more. */
async function verifiedPdf({ quickstart, service }: GreedyTenant): Promise<GreedyRequest> {
  const key = await service.createKey();
  const FTMData = await withPdf(async (path) => upload(quickstart, ftmRootOf(quickstart), path));
  const body = (file: object, parameters: object): object => ({
    ...{ keyReference: key, parameters, inputDocuments: [{ ID: 'd', FTMData: file }] },
    optionalInputs: { evidenceOutput: { outputMode: 'FTM' } },
  });
  const signed = await service.answer('signature/sign', body(FTMData, { XP7Signature: { XP7Format: 'PXP_7' } }));
  const { fileID, fileSize } = Stored.parse(signed).evidenceObject.document.FTMData;
  const again = body({ fileID, fileSize }, { XP7Signature: { XP7Format: 'PXP_7', validateSignatures: true } });
  return {
    async repeat() {
      const { evidenceObject } = Stored.parse(await service.answer('signature/sign', again));
      await deleteStored(quickstart, ftmRootOf(quickstart), evidenceObject.document.FTMData.fileID);
    },
  };
}

async function uploads({ quickstart }: GreedyTenant): Promise<GreedyRequest> {
  const directory = mkdtempSync(join(tmpdir(), 'signetd-greedy-'));
  const path = join(directory, 'large.pdf');
  writePdf(path, 20 * megabyte);
  process.once('exit', () => {
    rmSync(directory, { recursive: true, force: true });
  });
  return Promise.resolve({
    async repeat() {
      const { fileID } = await upload(quickstart, ftmRootOf(quickstart), path);
      await deleteStored(quickstart, ftmRootOf(quickstart), fileID);
    },
  });
}

async function withPdf<T>(use: (path: string) => Promise<T>): Promise<T> {
  const directory = mkdtempSync(join(tmpdir(), 'signetd-greedy-'));
  try {
    const path = join(directory, 'large.pdf');
    writePdf(path, 20 * megabyte);
    return await use(path);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

function ftmRootOf({ ftmRoot }: Quickstart): string {
  if (ftmRoot === undefined) throw new Error('the quickstart has no transfer store');
  return ftmRoot;
}
