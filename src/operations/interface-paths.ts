/** Every operation of the interface, below the path prefix of signatures and keys (contract §1): those that the table lacks are not built yet. */
export const interfacePaths: readonly string[] = [
  ...['remotePreSign', 'remoteSign', 'sign'].map((name) => `signature/${name}`),
  ...['createCertificate', 'revokeCertificate', 'sendMessage', 'sendOTP', 'changePassword', 'removeKey', 'checkKey'].map(
    (name) => `pki/${name}`,
  ),
];
