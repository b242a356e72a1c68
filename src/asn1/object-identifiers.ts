/** Object identifiers that this service writes or recognises, with their names in the standards. */
export const oids = {
  // CMS (RFC 5652 §4, §5.1, §11) and ESS (RFC 5035 §3)
  data: '1.2.840.113549.1.7.1',
  signedData: '1.2.840.113549.1.7.2',
  contentType: '1.2.840.113549.1.9.3',
  messageDigest: '1.2.840.113549.1.9.4',
  signingTime: '1.2.840.113549.1.9.5',
  signingCertificate: '1.2.840.113549.1.9.16.2.12',
  signingCertificateV2: '1.2.840.113549.1.9.16.2.47',

  // CAdES signed attributes, their commitment types and qualifiers (RFC 5126 §5.8, §5.11; ETSI EN
  // 319 122-1 §5.2.6)
  signaturePolicy: '1.2.840.113549.1.9.16.2.15',
  commitmentType: '1.2.840.113549.1.9.16.2.16',
  signerLocation: '1.2.840.113549.1.9.16.2.17',
  signerAttributesV2: '0.4.0.19122.1.1',
  uriQualifier: '1.2.840.113549.1.9.16.5.1',
  userNoticeQualifier: '1.2.840.113549.1.9.16.5.2',
  proofOfOrigin: '1.2.840.113549.1.9.16.6.1',
  proofOfReceipt: '1.2.840.113549.1.9.16.6.2',
  proofOfDelivery: '1.2.840.113549.1.9.16.6.3',
  proofOfSender: '1.2.840.113549.1.9.16.6.4',
  proofOfApproval: '1.2.840.113549.1.9.16.6.5',

  // hashes (RFC 3370, RFC 5754)
  sha1: '1.3.14.3.2.26',
  sha224: '2.16.840.1.101.3.4.2.4',
  sha256: '2.16.840.1.101.3.4.2.1',
  sha384: '2.16.840.1.101.3.4.2.2',
  sha512: '2.16.840.1.101.3.4.2.3',

  // RSA (RFC 8017)
  rsaEncryption: '1.2.840.113549.1.1.1',
  mgf1: '1.2.840.113549.1.1.8',
  rsassaPss: '1.2.840.113549.1.1.10',
  sha1WithRSAEncryption: '1.2.840.113549.1.1.5',
  sha224WithRSAEncryption: '1.2.840.113549.1.1.14',
  sha256WithRSAEncryption: '1.2.840.113549.1.1.11',
  sha384WithRSAEncryption: '1.2.840.113549.1.1.12',
  sha512WithRSAEncryption: '1.2.840.113549.1.1.13',

  // elliptic curves (RFC 5480, RFC 5758)
  ecPublicKey: '1.2.840.10045.2.1',
  prime256v1: '1.2.840.10045.3.1.7',
  secp384r1: '1.3.132.0.34',
  secp521r1: '1.3.132.0.35',
  ecdsaWithSHA1: '1.2.840.10045.4.1',
  ecdsaWithSHA224: '1.2.840.10045.4.3.1',
  ecdsaWithSHA256: '1.2.840.10045.4.3.2',
  ecdsaWithSHA384: '1.2.840.10045.4.3.3',
  ecdsaWithSHA512: '1.2.840.10045.4.3.4',

  // DSA (RFC 3279, RFC 5758, NIST's registry)
  dsaWithSHA1: '1.2.840.10040.4.3',
  dsaWithSHA224: '2.16.840.1.101.3.4.3.1',
  dsaWithSHA256: '2.16.840.1.101.3.4.3.2',
  dsaWithSHA384: '2.16.840.1.101.3.4.3.3',
  dsaWithSHA512: '2.16.840.1.101.3.4.3.4',

  // Edwards curves (RFC 8410)
  ed25519: '1.3.101.112',
  ed448: '1.3.101.113',

  // attribute types (X.520, RFC 4519, RFC 2985)
  commonName: '2.5.4.3',
  surname: '2.5.4.4',
  serialNumber: '2.5.4.5',
  countryName: '2.5.4.6',
  localityName: '2.5.4.7',
  stateOrProvinceName: '2.5.4.8',
  streetAddress: '2.5.4.9',
  organizationName: '2.5.4.10',
  organizationalUnitName: '2.5.4.11',
  title: '2.5.4.12',
  description: '2.5.4.13',
  businessCategory: '2.5.4.15',
  postalCode: '2.5.4.17',
  postOfficeBox: '2.5.4.18',
  physicalDeliveryOfficeName: '2.5.4.19',
  telephoneNumber: '2.5.4.20',
  x121Address: '2.5.4.24',
  internationalIsdnNumber: '2.5.4.25',
  destinationIndicator: '2.5.4.27',
  name: '2.5.4.41',
  givenName: '2.5.4.42',
  initials: '2.5.4.43',
  generationQualifier: '2.5.4.44',
  dnQualifier: '2.5.4.46',
  houseIdentifier: '2.5.4.51',
  pseudonym: '2.5.4.65',
  organizationIdentifier: '2.5.4.97',
  userId: '0.9.2342.19200300.100.1.1',
  domainComponent: '0.9.2342.19200300.100.1.25',
  emailAddress: '1.2.840.113549.1.9.1',

  // certificate extensions (RFC 5280 §4.2, RFC 3739 §3.2.6)
  subjectDirectoryAttributes: '2.5.29.9',
  subjectKeyIdentifier: '2.5.29.14',
  keyUsage: '2.5.29.15',
  subjectAltName: '2.5.29.17',
  basicConstraints: '2.5.29.19',
  crlDistributionPoints: '2.5.29.31',
  certificatePolicies: '2.5.29.32',
  anyPolicy: '2.5.29.32.0',
  authorityKeyIdentifier: '2.5.29.35',
  extendedKeyUsage: '2.5.29.37',
  authorityInfoAccess: '1.3.6.1.5.5.7.1.1',
  accessOcsp: '1.3.6.1.5.5.7.48.1',
  accessCaIssuers: '1.3.6.1.5.5.7.48.2',
  qcStatements: '1.3.6.1.5.5.7.1.3',
  nameConstraints: '2.5.29.30',
  policyMappings: '2.5.29.33',
  policyConstraints: '2.5.29.36',
  inhibitAnyPolicy: '2.5.29.54',
  ocspNoCheck: '1.3.6.1.5.5.7.48.1.5',
  practiceStatement: '1.3.6.1.5.5.7.2.1',

  // extended key purposes (RFC 5280 4.2.1.12)
  anyExtendedKeyUsage: '2.5.29.37.0',
  serverAuth: '1.3.6.1.5.5.7.3.1',
  clientAuth: '1.3.6.1.5.5.7.3.2',
  timeStamping: '1.3.6.1.5.5.7.3.8',
  // Adobe (contract §5)
  timeStampAddress: '1.2.840.113583.1.1.9.1',
  ocspSigning: '1.3.6.1.5.5.7.3.9',

  // OCSP (RFC 6960 §4.2.1, §4.4)
  ocspBasic: '1.3.6.1.5.5.7.48.1.1',
  ocspNonce: '1.3.6.1.5.5.7.48.1.2',
  ocspAcceptableResponses: '1.3.6.1.5.5.7.48.1.4',
  ocspArchiveCutoff: '1.3.6.1.5.5.7.48.1.6',
  ocspExtendedRevoke: '1.3.6.1.5.5.7.48.1.9',

  // CRLs and their entries (RFC 5280 §5.2, §5.3; X.509 9.5.2.8)
  crlNumber: '2.5.29.20',
  crlReason: '2.5.29.21',
  expiredCertsOnCrl: '2.5.29.60',

  // statements in qualified certificates (ETSI EN 319 412-5, EN 319 412-1 §5.1, RFC 3739 §3.2.6.1)
  qcCompliance: '0.4.0.1862.1.1',
  qcLimitValue: '0.4.0.1862.1.2',
  qcRetentionPeriod: '0.4.0.1862.1.3',
  qcSscd: '0.4.0.1862.1.4',
  qcPds: '0.4.0.1862.1.5',
  qcType: '0.4.0.1862.1.6',
  qcTypeEsign: '0.4.0.1862.1.6.1',
  qcTypeEseal: '0.4.0.1862.1.6.2',
  qcTypeWeb: '0.4.0.1862.1.6.3',
  qcLegislation: '0.4.0.1862.1.7',
  qcSyntaxV2: '1.3.6.1.5.5.7.11.2',
  semanticsNatural: '0.4.0.194121.1.1',
  semanticsLegal: '0.4.0.194121.1.2',

  // certification requests (RFC 2985, RFC 2986)
  extensionRequest: '1.2.840.113549.1.9.14',
} as const;
