import { createHash } from 'node:crypto';
import type { ProductionModule } from './production-modules.ts';

/** A Debian package that the package depends on. */
export interface DebianPart {
  readonly name: string;
  /** The dependency as the control file states it. */
  readonly relation: string;
}

interface Contents {
  readonly version: string;
  readonly architecture: string;
  /** Time of the build, seconds since 1970. */
  readonly epochSeconds: number;
  readonly modules: readonly ProductionModule[];
  readonly debianParts: readonly DebianPart[];
}

/** Licences that SPDX does not list, as npm packages state them. */
const notInSpdx = /^SEE LICENSE/;

/** Returns the bill of materials as CycloneDX 1.6 JSON (ECMA-424): npm packages, Node and Debian packages. */
export function billOfMaterials({ version, architecture, epochSeconds, modules, debianParts }: Contents): string {
  const own = `pkg:deb/debian/signetd@${version}?arch=${architecture}`;
  const npm = modules.map((module) => ({
    type: module.name.startsWith('node-linux-') ? 'platform' : 'library',
    'bom-ref': referenceOf(module),
    ...nameOf(module.name),
    version: module.version,
    ...hashesOf(module.integrity),
    licenses: [licenceOf(module.licence)],
    purl: purlOf(module),
  }));
  const debian = debianParts.map(({ name, relation }) => ({
    type: 'library',
    'bom-ref': `pkg:deb/debian/${name}`,
    name,
    description: `Debian package, not contained: ${relation}`,
    scope: 'required',
    purl: `pkg:deb/debian/${encodeURIComponent(name)}?distro=bookworm`,
  }));
  const references = new Map(modules.map((module) => [module.path, referenceOf(module)]));
  const direct = modules.filter(({ isDirect }) => isDirect).map(referenceOf);
  const document = {
    $schema: 'http://cyclonedx.org/schema/bom-1.6.schema.json',
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    serialNumber: `urn:uuid:${uuidOf(JSON.stringify([own, npm, debian]))}`,
    version: 1,
    metadata: {
      timestamp: new Date(epochSeconds * 1000).toISOString().replace('.000Z', 'Z'),
      component: {
        type: 'application',
        'bom-ref': own,
        name: 'signetd',
        version,
        licenses: [{ license: { id: 'Apache-2.0' } }],
        purl: own,
      },
    },
    components: [...npm, ...debian],
    dependencies: [
      { ref: own, dependsOn: [...direct, ...debian.map((part) => part['bom-ref'])] },
      ...modules.map((module) => ({
        ref: referenceOf(module),
        dependsOn: [...new Set(module.needs.flatMap((path) => references.get(path) ?? []))].toSorted(),
      })),
    ],
  };
  return `${JSON.stringify(document, undefined, 2)}\n`;
}

/** A package may be there twice, in different places, so the reference has the place. */
function referenceOf(module: ProductionModule): string {
  const outer = module.path === `node_modules/${module.name}` ? '' : `#${module.path}`;
  return `${purlOf(module)}${outer}`;
}

function purlOf({ name, version }: ProductionModule): string {
  return `pkg:npm/${name.replace('@', '%40')}@${version}`;
}

function nameOf(name: string): { readonly name: string; readonly group?: string } {
  const [group, own] = name.split('/');
  return own === undefined ? { name } : { group: group ?? '', name: own };
}

/** The hash of the package's archive in hexadecimal; its integrity in the lock file is `sha512-<base64>`. */
function hashesOf(integrity: string | undefined): { readonly hashes?: readonly object[] } {
  const [, value] = /^sha512-(.+)$/.exec(integrity ?? '') ?? [];
  if (value === undefined) return {};
  return { hashes: [{ alg: 'SHA-512', content: Buffer.from(value, 'base64').toString('hex') }] };
}

function licenceOf(expression: string): object {
  if (notInSpdx.test(expression) || expression === 'NOASSERTION') return { license: { name: expression } };
  return expression.includes(' ') ? { expression } : { license: { id: expression } };
}

/** A UUID of version 8 (RFC 9562 §5.8) from the content, so that the same content has the same serial number. */
function uuidOf(content: string): string {
  const bytes = createHash('sha256').update(content).digest().subarray(0, 16);
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x80, 6);
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}
