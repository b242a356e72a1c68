import { isSelfSigned, type PathCertificate } from '../../x509/path/path-certificate.ts';
import { Refusal } from '../../result-codes.ts';
import type { RevocationData, RevocationQuestion, RevocationSources, WantedData } from '../../revocation/revocation-data.ts';

/** A path whose certificates must be shown to be good. */
export interface LongTermPath {
  /** From the leaf up. */
  readonly certificates: readonly PathCertificate[];
  /** Whether the last one is trusted, so that its own status proves nothing, also where it is no root. */
  readonly isAnchored: boolean;
  /** Whose path it is, for messages: `signer certificate`. */
  readonly of: string;
  /** What is wanted of the first certificate, and of those above it. */
  readonly leaf: WantedData;
  readonly authorities: WantedData;
}

/** What a signature holds so that it can be validated when nobody answers any more. DER, each once. */
export interface LongTermData {
  /** Without the trust anchors. */
  readonly certificates: readonly Uint8Array[];
  readonly crls: readonly Uint8Array[];
  readonly ocspAnswers: readonly Uint8Array[];
}

/** What raises a signature above baseline B, in the terms of no format. */
export interface Additions {
  /** Token of the time-stamp over the signature value, DER. */
  readonly timeStamp: Uint8Array;
  readonly longTermData?: LongTermData | undefined;
  /** Archive time-stamp as the format holds it. */
  readonly archive?: Uint8Array | undefined;
}

/** The moment that statuses are wanted for, and what ends the asking. */
type Moment = Pick<RevocationQuestion, 'at' | 'signal'>;

/**
 * Certificates and revocation data of all paths (EN 319 122-1 §5.4, level LT), each judged for the moment.
 * @throws {Refusal} CERTIFICATE_STATUS_REFUSED for a revoked certificate, REVOCATION_UNAVAILABLE where its status is not known
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
        throw new Refusal('REVOCATION_UNAVAILABLE', { message: `${name}: its issuer is not known, so nothing shows that it is good` });
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
