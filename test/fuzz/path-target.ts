import { generateKeyPairSync, randomBytes, sign, type KeyObject } from 'node:crypto';
import * as der from '../../src/asn1/der.ts';
import { DerError, children, readAll } from '../../src/asn1/reader.ts';
import { externalSigner } from '../../src/operations/remote-pre-sign/external-signer.ts';
import { Refusal } from '../../src/result-codes.ts';
import type { WorkThreads } from '../../src/threads/work-threads.ts';
import { checkTokenAhead, TokenInvalid } from '../../src/timestamp/check-token.ts';
import { findPath } from '../../src/x509/path/find-path.ts';
import { pathCertificate, type PathCertificate } from '../../src/x509/path/path-certificate.ts';
import { PathFault } from '../../src/x509/path/path-fault.ts';
import { verifyPaths } from '../../src/x509/path/verify-paths.ts';
import { changedDer } from './der-changes.ts';
import { outcomeOf, type FuzzTarget } from './fuzz-target.ts';
import { pick, type RandomNumber } from './random-choice.ts';

/** A key of a stranger: one that signs, or one that only costs time. */
interface StrangerKey {
  readonly spki: Uint8Array;
  readonly privateKey: KeyObject | undefined;
}

const names = ['X', 'Y', 'Z'];
const dayMs = 86_400_000;
const certificatesMax = 18;

/**
 * Chains as a stranger may make them: few names, keys of all costs, certificates that sign each
 * other. They are a SEQUENCE, the signer's first.
 */
export function pathTarget(): FuzzTarget {
  const keys: readonly StrangerKey[] = [
    ...['P-256', 'P-384', 'P-521', 'P-521'].map((namedCurve) => pair(generateKeyPairSync('ec', { namedCurve }))),
    ...[2048, 4096].map((modulusLength) => pair(generateKeyPairSync('rsa', { modulusLength }))),
    ...[65_537n, 4_294_967_295n, 2n ** 64n - 1n].map((exponent) => madeUp(8192, exponent)),
    ...[16_384, 512].map((bits) => madeUp(bits, 65_537n)),
  ];
  return {
    input: (random) => {
      const chain = chainOf(keys, random);
      return random() < 0.3 ? changedDer(chain, random) : chain;
    },
    run: async (input, threads) => outcomeOf(async () => judged(input, threads)),
  };
}

async function judged(input: Uint8Array, threads: Pick<WorkThreads, 'run'>): Promise<string> {
  let certificates: readonly Uint8Array[];
  let parsed: readonly PathCertificate[];
  try {
    certificates = children(readAll(input)).map(({ raw }) => Uint8Array.from(raw));
    parsed = certificates.map((one) => pathCertificate(one));
  } catch (error) {
    if (error instanceof DerError) return 'UNREADABLE';
    throw error;
  }
  const [own = new Uint8Array(), ...chain] = certificates;
  const [target, ...others] = parsed;
  if (target === undefined) return 'NOTHING';
  const anchors = others.slice(-1);
  await asStamper(certificates, anchors, threads);
  try {
    await verifyPaths(parsed, anchors, threads);
    findPath(target, { anchors, intermediates: others }, { at: new Date() });
  } catch (error) {
    if (!(error instanceof PathFault)) throw error;
  }
  const context = { caller: { tenant: 'none' }, config: { tenants: {} }, authorities: new Map(), threads };
  // Only these members of the context are used.
  const { chain: found } = await externalSigner(
    [{ der: own, at: '' }, ...chain.map((one) => ({ der: one, at: '' }))],
    undefined,
    context as unknown as Parameters<typeof externalSigner>[2],
  );
  return `CHAIN_OF_${found.issuers.length}`;
}

/** Has the certificates judged as those beside a time-stamp, too. */
async function asStamper(
  certificates: readonly Uint8Array[],
  anchors: readonly PathCertificate[],
  threads: Pick<WorkThreads, 'run'>,
): Promise<void> {
  const content = der.sequence(der.oid('1.2.840.113549.1.9.16.1.4'), der.explicit(0, der.octetString(der.sequence(der.integer(1)))));
  const signedData = der.sequence(der.integer(3), der.set(), content, der.implicitConstructed(0, der.concat(...certificates)), der.set());
  const token = der.sequence(der.oid('1.2.840.113549.1.7.2'), der.explicit(0, signedData));
  try {
    await checkTokenAhead(token, { imprint: { hash: 'sha256', value: randomBytes(32) }, anchors, anyRoot: true }, new Date(), threads);
  } catch (error) {
    if (!(error instanceof TokenInvalid) && !(error instanceof Refusal)) throw error;
  }
}

/** A certificate before it is signed. */
interface Planned {
  readonly key: StrangerKey;
  readonly subject: string;
}

function chainOf(keys: readonly StrangerKey[], random: RandomNumber): Uint8Array {
  const signing = keys.filter(({ privateKey }) => privateKey !== undefined);
  const planned = Array.from({ length: 1 + Math.floor(random() * certificatesMax) }, (_, index): Planned => ({
    // The signer has a key that a signer may have.
    key: pick(index === 0 || random() < 0.6 ? signing : keys, random),
    subject: pick(names, random),
  }));
  return der.sequence(...planned.map((one, index) => certificateOf(one, pick(planned, random), random, index + 1)));
}

function certificateOf({ key, subject }: Planned, issuer: Planned, random: RandomNumber, serialNumber: number): Uint8Array {
  const { privateKey } = issuer.key;
  const isEc = privateKey?.asymmetricKeyType === 'ec';
  const algorithm = isEc ? der.sequence(der.oid('1.2.840.10045.4.3.2')) : der.sequence(der.oid('1.2.840.113549.1.1.11'), der.nullValue());
  const name = (text: string): Uint8Array => der.sequence(der.set(der.sequence(der.oid('2.5.4.3'), der.utf8String(text))));
  const sometimes = (share: number, id: string, value: () => Uint8Array): Uint8Array[] =>
    random() < share ? [extension(id, value())] : [];
  const many = (): readonly Uint8Array[] => Array.from({ length: 1 + Math.floor(random() ** 2 * 200) }, (_, index) => dnsName(index));
  const extensions = [
    ...sometimes(0.8, '2.5.29.19', () => der.sequence(der.boolean(true))),
    ...sometimes(0.5, '2.5.29.15', () => der.bitString(Uint8Array.of(0x06), 1)),
    ...sometimes(0.2, '2.5.29.32', () => der.sequence(der.sequence(der.oid('2.5.29.32.0')))),
    ...sometimes(0.2, '2.5.29.30', () => der.sequence(der.implicitConstructed(0, der.concat(...many().map((one) => der.sequence(one)))))),
    ...sometimes(0.2, '2.5.29.17', () => der.sequence(...many())),
    ...sometimes(0.1, '2.5.29.37', () => der.sequence(der.oid('1.3.6.1.5.5.7.3.8'))),
  ];
  const tbs = der.sequence(
    der.explicit(0, der.integer(2)),
    der.integer(serialNumber),
    algorithm,
    name(issuer.subject),
    der.sequence(der.time(new Date(Date.now() - dayMs)), der.time(new Date(Date.now() + dayMs))),
    name(subject),
    key.spki,
    ...(extensions.length === 0 ? [] : [der.explicit(3, der.sequence(...extensions))]),
  );
  const value = privateKey === undefined || random() < 0.05 ? randomBytes(64) : sign('sha256', tbs, privateKey);
  return der.sequence(tbs, algorithm, der.bitString(value));
}

function extension(id: string, value: Uint8Array): Uint8Array {
  return der.sequence(der.oid(id), der.octetString(value));
}

function dnsName(index: number): Uint8Array {
  return der.implicitPrimitive(2, Buffer.from(`host-${index}.example`));
}

function pair({ publicKey, privateKey }: { readonly publicKey: KeyObject; readonly privateKey: KeyObject }): StrangerKey {
  return { spki: publicKey.export({ type: 'spki', format: 'der' }), privateKey };
}

/** An RSA key that nobody has, of an odd modulus: verifying with it costs as much as with any other. */
function madeUp(bits: number, exponent: bigint): StrangerKey {
  const modulus = randomBytes(bits / 8);
  modulus[0] = (modulus[0] ?? 0) | 0x80;
  modulus[modulus.length - 1] = (modulus.at(-1) ?? 0) | 1;
  const key = der.sequence(der.integer(BigInt(`0x${modulus.toString('hex')}`)), der.integer(exponent));
  const algorithm = der.sequence(der.oid('1.2.840.113549.1.1.1'), der.nullValue());
  return { spki: der.sequence(algorithm, der.bitString(key)), privateKey: undefined };
}
