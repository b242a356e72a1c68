/** The forms of Canonical XML 1.0 and 1.1 and of Exclusive XML Canonicalization 1.0 (W3C). */
export const canonicalisations = [
  'C14N',
  'C14N_WITH_COMMENTS',
  'C14N_11',
  'C14N_11_WITH_COMMENTS',
  'EXC_C14N',
  'EXC_C14N_WITH_COMMENTS',
] as const;

export type Canonicalisation = (typeof canonicalisations)[number];

/** The identifiers of the W3C for use in signatures. */
export const canonicalisationUris: Readonly<Record<Canonicalisation, string>> = {
  C14N: 'http://www.w3.org/TR/2001/REC-xml-c14n-20010315',
  C14N_WITH_COMMENTS: 'http://www.w3.org/TR/2001/REC-xml-c14n-20010315#WithComments',
  C14N_11: 'http://www.w3.org/2006/12/xml-c14n11',
  C14N_11_WITH_COMMENTS: 'http://www.w3.org/2006/12/xml-c14n11#WithComments',
  EXC_C14N: 'http://www.w3.org/2001/10/xml-exc-c14n#',
  EXC_C14N_WITH_COMMENTS: 'http://www.w3.org/2001/10/xml-exc-c14n#WithComments',
};

export function canonicalisationOfUri(uri: string): Canonicalisation | undefined {
  return canonicalisations.find((name) => canonicalisationUris[name] === uri);
}

/** Returns the version of the rules by which a form treats namespaces and inherited attributes. */
export function rulesOf(algorithm: Canonicalisation): '1.0' | '1.1' | 'exclusive' {
  if (algorithm.startsWith('EXC_')) return 'exclusive';
  return algorithm.startsWith('C14N_11') ? '1.1' : '1.0';
}

export function keepsComments(algorithm: Canonicalisation): boolean {
  return algorithm.endsWith('_WITH_COMMENTS');
}
