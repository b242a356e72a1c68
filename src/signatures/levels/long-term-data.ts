import { isSelfSigned, type PathCertificate } from '../../x509/path/path-certificate.ts';
import { Refusal } from '../../result-codes.ts';
import type { Tolerance } from './asked-level.ts';
import type { RevocationData, RevocationQuestion, RevocationSources, WantedData } from '../../revocation/revocation-data.ts';
import { undetermined } from '../../revocation/status.ts';
import type { Vouches } from './vouching.ts';

/** A path whose certificates must be shown to be good. */
export interface LongTermPath {
  /** From the leaf up. */
  readonly certificates: readonly PathCertificate[];
  /**
   * Whether the last certificate is trusted, even if it is no root, so that its status is not
   * needed.
   */
  readonly isAnchored: boolean;
  /** Owner of the path for messages, such as `signer certificate`. */
  readonly of: string;
  /** Revocation data wanted for the first certificate, and for those above it. */
  readonly leaf: WantedData;
  readonly authorities: WantedData;
  /** Whether a certificate of the path may name servers that callers may not. */
  readonly vouches: Vouches;
  /** What is tolerated of the first certificate; absent: it must be good. */
  readonly tolerated?: Tolerance['ofSigner'] | undefined;
}

/**
 * Data with which a signature can be validated when its sources no longer exist. DER, without
 * duplicates.
 */
export interface LongTermData {
  /** Without the trust anchors. */
  readonly certificates: readonly Uint8Array[];
  readonly crls: readonly Uint8Array[];
  readonly ocspAnswers: readonly Uint8Array[];
}

/** Long-term data as far as it could be had. */
export interface Gathered {
  readonly data: LongTermData;
  /** False if data of a certificate is missing. */
  readonly isComplete: boolean;
  /**
   * False if the issuer of a certificate is unknown: the content of a signature does not show that.
   */
  readonly hasWholePaths: boolean;
  /** What the caller must know of it: what is left out, and what is tolerated. */
  readonly remarks: readonly string[];
}

/** Data that raises a signature above baseline B, independent of the format. */
export interface Additions {
  /** Token of the time-stamp over the signature value, DER. */
  readonly timeStamp: Uint8Array;
  readonly longTermData?: LongTermData | undefined;
  /** Archive time-stamp in the encoding of the format. */
  readonly archive?: Uint8Array | undefined;
}

/** Time for which statuses are wanted, and the signal that cancels the requests. */
type Moment = Pick<RevocationQuestion, 'at' | 'signal'>;

/** How revocation data is gathered. */
export interface Gathering extends Moment {
  readonly sources: RevocationSources;
  /** Whether unavailable data is an error; otherwise it is left out. */
  readonly cancelOnError: boolean;
}

/**
 * Returns certificates and revocation data of all paths (EN 319 122-1 §5.4, level LT), evaluated
 * for the given time.
 * @throws {Refusal} CERTIFICATE_STATUS_REFUSED for a status that is not tolerated,
 * REVOCATION_UNAVAILABLE for data that is unavailable and not left out
 */
export async function longTermData(paths: readonly LongTermPath[], gathering: Gathering): Promise<Gathered> {
  const all = (await Promise.all(paths.map(async (path) => dataOf(path, gathering)))).flat();
  return {
    data: {
      certificates: distinct(paths.flatMap(({ certificates }) => certificates.filter((one) => !isSelfSigned(one)).map(({ der }) => der))),
      crls: distinct(all.flatMap(({ crls }) => crls)),
      ocspAnswers: distinct(all.flatMap(({ ocspAnswers }) => ocspAnswers)),
    },
    isComplete: all.every(({ isComplete }) => isComplete),
    hasWholePaths: all.every(({ hasIssuer }) => hasIssuer),
    remarks: [...new Set(all.flatMap(({ remark }) => remark ?? []))],
  };
}

/** Data of one certificate, as far as it could be had. */
interface CertificateData extends Pick<RevocationData, 'crls' | 'ocspAnswers'> {
  readonly isComplete: boolean;
  readonly hasIssuer: boolean;
  readonly remark?: string;
}

async function dataOf(
  { certificates, isAnchored, of, leaf, authorities, vouches, tolerated }: LongTermPath,
  { sources, cancelOnError, ...when }: Gathering,
): Promise<CertificateData[]> {
  const below = certificates.filter((one) => !isSelfSigned(one) && !(isAnchored && one === certificates.at(-1)));
  return Promise.all(
    below.map(async (certificate, index) => {
      const issuer = certificates[index + 1];
      const isLeaf = index === 0;
      const name = isLeaf ? of : `authority above the ${of}`;
      const data: RevocationData =
        issuer === undefined
          ? { status: undetermined('its issuer is unknown, so its status cannot be determined'), crls: [], ocspAnswers: [] }
          : await sources.of({
              ...{ certificate, issuer, wanted: isLeaf ? leaf : authorities, ...when },
              isVouchedFor: vouches(certificate, certificates.slice(index + 1)),
            });
      return { ...judged(data, name, { tolerated: isLeaf ? tolerated : undefined, cancelOnError }), hasIssuer: issuer !== undefined };
    }),
  );
}

/**
 * Returns the data of a certificate that is good or tolerated. Only where a status is tolerated is
 * an answer that leaves it open told from an answer that is missing.
 */
function judged(
  { status, crls, ocspAnswers }: RevocationData,
  name: string,
  { tolerated, cancelOnError }: { readonly tolerated: Tolerance['ofSigner'] | undefined; readonly cancelOnError: boolean },
): Omit<CertificateData, 'hasIssuer'> {
  if (status.kind === 'good') return { crls, ocspAnswers, isComplete: true };
  if (status.kind === 'revoked') {
    const since = `revoked at ${status.revokedAt.toISOString()}`;
    if (tolerated === 'REVOKED') return { crls, ocspAnswers, isComplete: true, remark: `the ${name} was ${since}` };
    throw new Refusal('CERTIFICATE_STATUS_REFUSED', { message: `${name}: ${since}` });
  }
  const { why, isAnswered = false } = status;
  if (isAnswered && tolerated === 'VALID')
    throw new Refusal('CERTIFICATE_STATUS_REFUSED', { message: `${name}: the status is undetermined: ${why}` });
  if (isAnswered && tolerated !== undefined)
    return { crls, ocspAnswers, isComplete: false, remark: `the status of the ${name} is undetermined (${why})` };
  if (cancelOnError) throw new Refusal('REVOCATION_UNAVAILABLE', { message: `${name}: ${why}` });
  return { crls, ocspAnswers, isComplete: false, remark: `revocation data of the ${name} is unavailable (${why})` };
}

function distinct(list: readonly Uint8Array[]): Uint8Array[] {
  const seen = new Map(list.map((one) => [Buffer.from(one).toString('base64'), one]));
  return [...seen.values()];
}
