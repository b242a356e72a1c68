/**
 * Signs an XML file, enveloped, in a process of its own, and prints figures as JSON. `time`: beside
 * parsing and canonicalising the same file by libxml2 alone; `memory`: the peak of the process.
 */
import { createHash, createPrivateKey, createPublicKey, sign } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { usualProperties } from '../src/signatures/request/signed-properties.ts';
import { envelopedFormat } from '../src/signatures/xades/enveloped.ts';
import type { EnvelopedParameters } from '../src/signatures/xades/enveloped-state.ts';
import { readCertificateText } from '../src/x509/certificate.ts';
import { XmlDocument } from '../src/xml/xml-document.ts';

const rounds = 10;
const [mode = '', file = ''] = process.argv.slice(2);
const directory = dirname(file);
const certificate = readCertificateText(readFileSync(join(directory, 'certificate.pem'), 'utf8'));
const privateKey = createPrivateKey(readFileSync(join(directory, 'key.pem')));
const publicKey = createPublicKey({ key: Buffer.from(certificate.subjectPublicKeyInfo), format: 'der', type: 'spki' });
const chain = { certificate, publicKey, issuers: [certificate.der] };
const algorithm = { scheme: 'ECDSA', hash: 'sha256' } as const;
const parameters: EnvelopedParameters = {
  ...{ algorithm, version: 'VERSION_1_3_2', prefix: 'xad', ids: {}, root: undefined, properties: usualProperties },
  canonicalisation: { contents: 'EXC_C14N', properties: 'EXC_C14N', signedInfo: 'EXC_C14N' },
  ...{ seed: 'bench', validates: false, position: undefined, place: 'LAST_CHILD', signedNode: undefined },
  ...{ transformation: undefined, at: '' },
};

/** Returns the processor time of `work` in seconds. */
function cpuSeconds(work: () => void): number {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1e6;
}

function libxml2Alone(): void {
  using document = XmlDocument.parse(readFileSync(file));
  const digest = createHash('sha256');
  document.canonicalise({ algorithm: 'EXC_C14N' }, (bytes) => digest.update(bytes));
  digest.digest();
}

function signed(): void {
  const documents = [{ id: 'd', fileName: undefined, source: { content: readFileSync(file) } }];
  const [prepared] = envelopedFormat.prepare(documents, parameters, chain, { now: new Date() });
  if (prepared?.dataToSign === undefined) throw new Error('one signature');
  const value = sign('sha256', prepared.dataToSign, { key: privateKey, dsaEncoding: 'ieee-p1363' });
  envelopedFormat.complete(prepared, value, { algorithm, chain });
}

if (mode === 'memory') {
  signed();
  const peak = /VmHWM:\s+(\d+) kB/.exec(readFileSync('/proc/self/status', 'utf8'))?.[1];
  console.log(JSON.stringify({ peakBytes: Number(peak) * 1024 }));
} else {
  const [alone, whole]: [number[], number[]] = [[], []];
  for (let round = 0; round < rounds; round += 1) {
    alone.push(cpuSeconds(libxml2Alone));
    whole.push(cpuSeconds(signed));
  }
  console.log(JSON.stringify({ alone: Math.min(...alone), signed: Math.min(...whole) }));
}
process.exit(0);
