import type { Config } from './config.ts';

/** A file with certificates, and the member of the configuration that names it. */
export interface ConfiguredCertificate {
  readonly member: string;
  readonly file: string;
}

/** Returns the files of all certificates that the service uses or issues with. */
export function configuredCertificates(config: Config): ConfiguredCertificate[] {
  const { listeners, timeStampAuthority, clientAuthority, certificateAuthorities, tenants } = config;
  const { certificate, clientCertificateAuthority } = listeners.api;
  const of = (member: string, ...files: readonly string[]): ConfiguredCertificate[] => files.map((file) => ({ member, file }));
  return [
    ...of('listeners.api.certificate', certificate),
    ...of('listeners.api.clientCertificateAuthority', clientCertificateAuthority),
    ...(clientAuthority === undefined || clientAuthority.certificate === clientCertificateAuthority
      ? []
      : of('clientAuthority', clientAuthority.certificate)),
    ...Object.entries(certificateAuthorities).flatMap(([name, authority]) =>
      of(`certificateAuthorities.${name}`, authority.certificate, ...authority.chain),
    ),
    ...(timeStampAuthority === undefined ? [] : of('timeStampAuthority', timeStampAuthority.certificate, ...timeStampAuthority.chain)),
    ...Object.entries(tenants).flatMap(([name, { twoDDoc }]) =>
      twoDDoc.identities.flatMap((identity, index) => of(`tenants.${name}.twoDDoc.identities.${index}`, identity.certificate)),
    ),
  ];
}
