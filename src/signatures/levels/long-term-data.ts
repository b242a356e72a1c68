import { isSelfSigned, type PathCertificate } from '../../x509/path/path-certificate.ts';
import { Refusal } from '../../result-codes.ts';
import type { RevocationData, RevocationQuestion, RevocationSources, WantedData } from '../../revocation/revocation-data.ts';

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

/**
 * Returns certificates and revocation data of all paths (EN 319 122-1 §5.4, level LT), evaluated
 * for the given time.
 * @throws {Refusal} CERTIFICATE_STATUS_REFUSED for a revoked certificate, REVOCATION_UNAVAILABLE if
 * a status is unknown
 */
export async function longTermData(paths: readonly LongTermPath[], sources: RevocationSources, when: Moment): Promise<LongTermData> {
  const all = await Promise.all(paths.map(async (path) => dataOf(path, sources, when)));
  const data = all.flat();
  return {
    certificates: distinct(paths.flatMap(({ certificates }) => certificates.filter((one) => !isSelfSigned(one)).map(({ der }) => der))),
    crls: distinct(data.flatMap(({ crls }) => crls)),
    ocspAnswers: distinct(data.flatMap(({ ocspAnswers }) => ocspAnswers)),
  };
}

async function dataOf(
  { certificates, isAnchored, of, leaf, authorities }: LongTermPath,
  sources: RevocationSources,
  when: Moment,
): Promise<RevocationData[]> {
  const below = certificates.filter((one) => !isSelfSigned(one) && !(isAnchored && one === certificates.at(-1)));
  return Promise.all(
    below.map(async (certificate, index) => {
      const issuer = certificates[index + 1];
      const name = index === 0 ? of : `authority above the ${of}`;
      if (issuer === undefined)
        throw new Refusal('REVOCATION_UNAVAILABLE', { message: `${name}: its issuer is unknown, so its status cannot be determined` });
      const data = await sources.of({ certificate, issuer, wanted: index === 0 ? leaf : authorities, ...when });
      if (data.status.kind === 'good') return data;
      if (data.status.kind === 'undetermined') throw new Refusal('REVOCATION_UNAVAILABLE', { message: `${name}: ${data.status.why}` });
      throw new Refusal('CERTIFICATE_STATUS_REFUSED', { message: `${name}: revoked at ${data.status.revokedAt.toISOString()}` });
    }),
  );
}

function distinct(list: readonly Uint8Array[]): Uint8Array[] {
  const seen = new Map(list.map((one) => [Buffer.from(one).toString('base64'), one]));
  return [...seen.values()];
}
