/** Algorithm identifiers of XML Signature 1.1 (§6) and RFC 6931. */
import { hashBytes, hashNames, type HashName, type SignatureAlgorithm } from '../token/signature-algorithm.ts';

export const dsNamespace = 'http://www.w3.org/2000/09/xmldsig#';
const moreNamespace = 'http://www.w3.org/2001/04/xmldsig-more#';

export const transformUris = {
  enveloped: `${dsNamespace}enveloped-signature`,
  base64: `${dsNamespace}base64`,
  xpath: 'http://www.w3.org/TR/1999/REC-xpath-19991116',
  xpathFilter2: 'http://www.w3.org/2002/06/xmldsig-filter2',
} as const;

export const digestUris = {
  sha1: `${dsNamespace}sha1`,
  sha256: 'http://www.w3.org/2001/04/xmlenc#sha256',
  sha384: `${moreNamespace}sha384`,
  sha512: 'http://www.w3.org/2001/04/xmlenc#sha512',
} as const satisfies Record<HashName, string>;

/** Returns the hash with an identifier; undefined if it is unknown. */
export function hashOfUri(uri: string): HashName | undefined {
  return hashNames.find((hash) => digestUris[hash] === uri);
}

/**
 * Returns the identifier of a SignatureMethod. RSASSA-PSS has one without parameters only if MGF1
 * uses the same hash and the salt is as long (RFC 6931 §2.3.10).
 */
export function signatureMethodUri(algorithm: SignatureAlgorithm): string {
  const { scheme, hash } = algorithm;
  switch (scheme) {
    case 'RSA_PKCS1':
      return hash === 'sha1' ? `${dsNamespace}rsa-sha1` : `${moreNamespace}rsa-${hash}`;
    case 'ECDSA':
      return `${moreNamespace}ecdsa-${hash}`;
    case 'RSA_PSS':
      if (algorithm.mgfHash !== hash || algorithm.saltBytes !== hashBytes[hash])
        throw new RangeError('these PSS parameters have no identifier');
      return `http://www.w3.org/2007/05/xmldsig-more#${hash}-rsa-MGF1`;
  }
}

/** Returns the algorithm with an identifier; undefined if it is unknown. */
export function signatureAlgorithmOfUri(uri: string): SignatureAlgorithm | undefined {
  const all = hashNames.flatMap((hash): SignatureAlgorithm[] => [
    { scheme: 'RSA_PKCS1', hash },
    { scheme: 'ECDSA', hash },
    { scheme: 'RSA_PSS', hash, mgfHash: hash, saltBytes: hashBytes[hash] },
  ]);
  return all.find((algorithm) => signatureMethodUri(algorithm) === uri);
}
