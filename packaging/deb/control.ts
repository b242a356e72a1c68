import type { DebianPart } from './bill-of-materials.ts';

/** Whom the control file names: those who distribute the package, as Debian's tools know them. */
export const maintainer = `${process.env['DEBFULLNAME'] ?? 'signetd'} <${process.env['DEBEMAIL'] ?? 'signetd@localhost'}>`;

/** What the package needs of Debian 12. systemd makes the accounts and directories, even where it does not run. */
export const debianParts: readonly DebianPart[] = [
  { name: 'libc6', relation: 'libc6 (>= 2.36)' },
  { name: 'libgcc-s1', relation: 'libgcc-s1 (>= 3.4)' },
  { name: 'libstdc++6', relation: 'libstdc++6 (>= 12)' },
  { name: 'init-system-helpers', relation: 'init-system-helpers (>= 1.54~)' },
  {
    name: 'systemd',
    relation: 'systemd (>= 252) | systemd-standalone-sysusers (>= 252), systemd (>= 252) | systemd-standalone-tmpfiles (>= 252)',
  },
];

interface Facts {
  readonly version: string;
  readonly architecture: string;
  /** Kibibytes of all files. */
  readonly installedKiB: number;
}

/** Returns DEBIAN/control. */
export function controlFile({ version, architecture, installedKiB }: Facts): string {
  return [
    'Package: signetd',
    `Version: ${version}`,
    `Architecture: ${architecture}`,
    'Section: net',
    'Priority: optional',
    `Maintainer: ${maintainer}`,
    `Installed-Size: ${installedKiB}`,
    `Depends: ${debianParts.map(({ relation }) => relation).join(', ')}`,
    // signetctl setup verifies its first signature with it.
    'Recommends: openssl',
    'Suggests: softhsm2, opensc',
    'Description: signing daemon with keys on a PKCS #11 token',
    ' signetd creates keys and short-lived certificates, and signs documents, for',
    ' the applications of an organisation: CAdES, XAdES, PAdES and 2D-Doc, over a',
    ' JSON API with mutual TLS.',
    ' .',
    ' Private keys are generated on a PKCS #11 token, such as an HSM, and never',
    ' leave it. The package has its own Node.js runtime. Nothing starts before',
    ' /etc/signetd/signetd.yaml exists.',
    '',
  ].join('\n');
}
