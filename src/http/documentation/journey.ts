/** A part of the page: operations by their names, or the file transfer store. */
export interface Stage {
  readonly id: string;
  readonly title: string;
  readonly text: string;
  readonly operations: readonly string[] | 'files';
}

/** The operations in the order in which an application meets them. */
export const journey: readonly Stage[] = [
  {
    id: 'keys-and-signatures',
    title: 'Keys and signatures',
    text: 'Create a key with its certificate, then sign with it. The other operations manage the key until its end.',
    operations: ['createCertificate', 'sign', 'sendOTP', 'checkKey', 'changePassword', 'removeKey', 'revokeCertificate'],
  },
  {
    id: 'two-steps',
    title: 'Signing in two steps',
    text: 'For keys that are held elsewhere, such as in a signing device: the service prepares the signature, the device computes its value, and the service completes it.',
    operations: ['remotePreSign', 'remoteSign'],
  },
  {
    id: 'files',
    title: 'Files',
    text: 'The file transfer store takes and returns files that are too large for JSON. What is uploaded belongs to the tenant of the client, is a document of requests by `FTMData`, and expires; outputMode `FTM` puts evidence there.',
    operations: 'files',
  },
  { id: 'messages', title: 'Messages', text: 'Texts to the holder of a key.', operations: ['sendMessage'] },
  {
    id: '2d-doc',
    title: '2D-Doc',
    text: 'Signed two-dimensional codes: `createDataZone` makes a data zone, which `sign` signs with `code2DDocSignature`; `createImage2DDoc` makes, signs and draws one in a single request.',
    operations: ['createDataZone', 'createImage2DDoc'],
  },
  {
    id: 'csc',
    title: 'Cloud Signature Consortium',
    text: 'The same keys through the API of the Cloud Signature Consortium, versions 1 and 2, for clients that speak it. A success is the answer alone; a failure has an HTTP status, `error` and `error_description`. No bearer token is needed: the client certificate says who asks.',
    operations: [
      ...['cscV1Info', 'cscV1CredentialsList', 'cscV1CredentialsInfo', 'cscV1CredentialsSendOTP', 'cscV1CredentialsAuthorize'],
      ...['cscV1CredentialsExtendTransaction', 'cscV1SignaturesSignHash', 'cscV1SignaturesTimestamp'],
      ...['cscV2Info', 'cscV2CredentialsList', 'cscV2CredentialsInfo', 'cscV2CredentialsSendOTP', 'cscV2CredentialsGetChallenge'],
      ...['cscV2CredentialsAuthorize', 'cscV2CredentialsExtendTransaction', 'cscV2SignaturesSignHash', 'cscV2SignaturesSignDoc'],
      'cscV2SignaturesTimestamp',
    ],
  },
];
