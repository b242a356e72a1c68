import { loopback } from './ports.ts';

/** Key and certificate of the time-stamp authority. */
interface TimeStampSigner {
  readonly certificate: string;
  readonly chain: readonly string[];
  readonly keyId: string;
}

/** The time-stamp authority as the configuration names it. */
export interface TimeStampAuthorityEntry extends TimeStampSigner {
  readonly policy: string;
  readonly otherPolicies: readonly string[];
}

/** Policies for tests, which nobody stands behind. */
export function timeStampAuthoritySection(signer: TimeStampSigner): TimeStampAuthorityEntry {
  return { ...signer, policy: '1.2.3.4.1', otherPolicies: ['1.2.3.4.2'] };
}

/** Sections for what signatures ask of other servers: those of this machine may be named by anybody; SERVER is the own CA and the own authority. */
export function outgoingSections(publicUrl: string): Readonly<Record<'outgoing' | 'revocation', object>> {
  return {
    outgoing: { clientHosts: [loopback, 'localhost', '[::1]'], privateNetworks: ['127.0.0.0/8', '::1/128'] },
    revocation: {
      crlUrls: ['issuing', 'root'].map((name) => `${publicUrl}/pki/${name}.crl`),
      ocspUrls: ['issuing', 'root'].map((name) => `${publicUrl}/ocsp/${name}`),
    },
  };
}

export function timestampUrlOf(publicUrl: string): string {
  return `${publicUrl}/tsa`;
}
