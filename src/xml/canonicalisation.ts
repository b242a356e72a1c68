/** The canonicalisation algorithms of the interface, by the names that this project gives them. */
export const canonicalisations = [
  'C14N',
  'C14N_WITH_COMMENTS',
  'C14N_11',
  'C14N_11_WITH_COMMENTS',
  'EXC_C14N',
  'EXC_C14N_WITH_COMMENTS',
] as const;
export type Canonicalisation = (typeof canonicalisations)[number];

/** Algorithm identifiers (XML Signature 1.1 §6.5). */
export const canonicalisationUris = {
  C14N: 'http://www.w3.org/TR/2001/REC-xml-c14n-20010315',
  C14N_WITH_COMMENTS: 'http://www.w3.org/TR/2001/REC-xml-c14n-20010315#WithComments',
  C14N_11: 'http://www.w3.org/2006/12/xml-c14n11',
  C14N_11_WITH_COMMENTS: 'http://www.w3.org/2006/12/xml-c14n11#WithComments',
  EXC_C14N: 'http://www.w3.org/2001/10/xml-exc-c14n#',
  EXC_C14N_WITH_COMMENTS: 'http://www.w3.org/2001/10/xml-exc-c14n#WithComments',
} as const satisfies Record<Canonicalisation, string>;

export function canonicalisationOfUri(uri: string): Canonicalisation | undefined {
  return canonicalisations.find((name) => canonicalisationUris[name] === uri);
}

export function keepsComments(algorithm: Canonicalisation): boolean {
  return algorithm.endsWith('_WITH_COMMENTS');
}
