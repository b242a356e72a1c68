import type { KeyObject } from 'node:crypto';
import { DerError } from '../../asn1/reader.ts';
import { reasonOf } from '../../telemetry/reason-of.ts';
import { codeVerifies, type Code } from '../../twoddoc/code/code.ts';
import { zoneCurves } from '../../twoddoc/code/curves.ts';
import { headerFaults, rulesOfCertificate } from '../../twoddoc/identities/digital-identity.ts';
import { dayOfHex, isoOfDay } from '../../twoddoc/zone/days.ts';
import type { ZoneHeader } from '../../twoddoc/zone/header.ts';
import { readPublicKey } from '../../verification/public-key.ts';
import { readCertificateText, type Certificate } from '../../x509/certificate.ts';
import { CommandError, exitCodes } from '../exit-codes.ts';
import { readBounded } from './bounded-file.ts';

const certificateMaxBytes = 1024 * 1024;

/** What a certificate says about a code. */
interface Comparison {
  readonly view: {
    readonly verified: boolean;
    /**
     * Names are null if the certificate has none. `fits`: whether it may sign a zone with this
     * header.
     */
    readonly certificate: {
      readonly issuer: string | null;
      readonly subject: string | null;
      readonly notBefore: string;
      readonly notAfter: string;
      /** Empty: any. */
      readonly types: readonly string[];
      readonly fits: boolean;
    };
  };
  readonly verdict: string;
  /** Name and value, for people. */
  readonly rows: readonly (readonly [string, string])[];
  readonly faults: readonly string[];
}

/** @throws {CommandError} if the file cannot be read, or is not a certificate */
export async function readCertificateFile(file: string): Promise<Certificate> {
  if (file === '-') throw new CommandError(exitCodes.usage, '--certificate takes a file');
  let bytes: Buffer | undefined;
  try {
    bytes = await readBounded(file, certificateMaxBytes);
  } catch (error) {
    throw new CommandError(exitCodes.usage, `--certificate: ${reasonOf(error)}`);
  }
  try {
    if (bytes !== undefined) return readCertificateText(bytes);
  } catch (error) {
    if (!(error instanceof DerError)) throw error;
  }
  throw new CommandError(exitCodes.usage, `--certificate: ${file}: this is not an X.509 certificate in PEM or DER`);
}

/** A member of the certificate, with the one of the header that it must fit. */
interface Part {
  readonly name: string;
  readonly found: string;
  /** If it fits: behind what was found. */
  readonly good: string;
  /** Undefined if it fits. */
  readonly misfit: string | undefined;
}

/**
 * Verifies the signature of a code, and compares its header with the certificate, whose own
 * signature is not verified.
 */
export function compare(certificate: Certificate, code: Code, header: ZoneHeader): Comparison {
  const wrong = whyNotVerified(certificate, code);
  const { ca, certificateId, certificateTypes } = rulesOfCertificate(certificate);
  const parts = partsOf(certificate, header);
  const misfits = parts.flatMap(({ name, found, misfit }) =>
    misfit === undefined ? [] : [`the ${name} of the certificate: ${found}, but ${misfit}`],
  );
  return {
    view: {
      verified: wrong === undefined,
      certificate: {
        issuer: ca === '' ? null : ca,
        subject: certificateId === '' ? null : certificateId,
        notBefore: certificate.notBefore.toISOString(),
        notAfter: certificate.notAfter.toISOString(),
        types: [...certificateTypes],
        fits: misfits.length === 0,
      },
    },
    verdict: wrong === undefined ? 'verified with the certificate' : `WRONG: ${wrong}`,
    rows: parts.map(({ name, found, good, misfit }) => [
      `${name} of the certificate`,
      misfit === undefined ? `${found}${good}` : `WRONG: ${found}, but ${misfit}`,
    ]),
    faults: wrong === undefined ? misfits : [`the signature does not verify: ${wrong}`, ...misfits],
  };
}

function partsOf(certificate: Certificate, header: ZoneHeader): readonly Part[] {
  const rules = rulesOfCertificate(certificate);
  const signed = dayOfHex(header.signatureDate);
  const wrong = new Set(headerFaults(rules, header, signed).map(({ member }) => member));
  const { ca, certificateId, certificateTypes } = rules;
  const period = [certificate.notBefore, certificate.notAfter].map(isoOfDay).join(' to ');
  const date = signed === undefined ? 'the header has no date of the signature' : `the date of the signature is ${isoOfDay(signed)}`;
  const same = ', as in the header';
  const anyType = certificateTypes.size === 0;
  return [
    { name: 'issuer', found: nameOf(ca), good: same, misfit: wrong.has('ca') ? `the header has ${header.ca}` : undefined },
    {
      ...{ name: 'subject', found: nameOf(certificateId), good: same },
      misfit: wrong.has('certificate') ? `the header has ${header.certificate}` : undefined,
    },
    {
      ...{ name: 'validity', found: period, good: ', which includes the date of the signature' },
      misfit: signed === undefined || wrong.has('signatureDate') ? date : undefined,
    },
    {
      ...{ name: 'types', found: anyType ? 'any' : [...certificateTypes].join(', '), good: anyType ? '' : same },
      misfit: wrong.has('type') ? `the header has ${header.type}` : undefined,
    },
  ];
}

function nameOf(commonName: string): string {
  return commonName === '' ? 'no common name' : commonName;
}

/** Returns why the signature is not that of the certificate's key; undefined if it is. */
function whyNotVerified({ subjectPublicKeyInfo }: Certificate, code: Code): string | undefined {
  let key: KeyObject;
  try {
    key = readPublicKey(subjectPublicKeyInfo);
  } catch {
    return 'the key of the certificate cannot be read';
  }
  const curve = zoneCurves.find(({ namedCurve }) => namedCurve === key.asymmetricKeyDetails?.namedCurve);
  if (curve === undefined) return 'the key of the certificate is not on one of the curves P-256, P-384 and P-521';
  if (curve !== code.curve) return `the key of the certificate is on ${curve.name}, but the signature on ${code.curve.name}`;
  return codeVerifies(code, key) ? undefined : 'it is not a signature of these bytes by the key of the certificate';
}
