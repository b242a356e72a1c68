import { loopback } from './ports.ts';

/** Key and certificate of the time-stamp authority. */
interface TimeStampSigner {
  readonly certificate: string;
  readonly chain: readonly string[];
  readonly keyId: string;
}

/** The time-stamp authority's section of the configuration. */
export interface TimeStampAuthorityEntry extends TimeStampSigner {
  readonly policy: string;
  readonly otherPolicies: readonly string[];
}

/** Returns the section, with policies that are for tests only. */
export function timeStampAuthoritySection(signer: TimeStampSigner): TimeStampAuthorityEntry {
  return { ...signer, policy: '1.2.3.4.1', otherPolicies: ['1.2.3.4.2'] };
}

/**
 * Returns the sections for outgoing requests: callers may name servers of this machine; SERVER is
 * our own CA and our own authority.
 */
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
