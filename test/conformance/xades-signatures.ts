import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Sample, ValidationRequest } from './signatures.ts';
import type { SigningService } from './signing-service.ts';
import { knownRefusal, nameOf, requestOf, type XadesCombination } from './xades-matrix.ts';

type Content = NonNullable<ValidationRequest['content']>;

export async function makeXades(service: SigningService, directory: string, combination: XadesCombination): Promise<Sample[]> {
  const { parameters, documents } = requestOf(combination);
  const evidence = await service.sign(combination.keyType, parameters, documents);
  const name = nameOf(combination);
  const claimed = combination.signedProperties === 'no-time' ? {} : { require: combination.level };
  const files = writtenEvidence(combination.form, evidence, documents, join(directory, name));
  const refusedBy = knownRefusal(combination);
  return [{ request: { ...files, trust: service.trust, ...claimed }, ...(refusedBy === undefined ? {} : { refusedBy }) }];
}

/** Writes what the service delivered, in files whose paths begin with `path`, and tells how it is to be judged. */
export function writtenEvidence(
  form: XadesCombination['form'],
  evidence: Buffer,
  documents: readonly { readonly bytes: Buffer }[],
  path: string,
): Pick<ValidationRequest, 'file' | 'content'> {
  if (form === 'DXXP_7-asic') return { file: written(`${path}.asice`, evidence) };
  const file = form === 'DXXP_7-zip' ? unpacked(written(`${path}.zip`, evidence), path) : written(`${path}.xml`, inUtf8(evidence));
  if (!form.startsWith('DXXP_7')) return { file };
  const uris = contentUris(readFileSync(file, 'utf8'));
  if (uris.length !== documents.length) throw new Error(`${file} refers to ${uris.length} documents, not to ${documents.length}`);
  const content: Content = uris.map((uri, index) => {
    const name = decodeURIComponent(uri);
    if (form === 'DXXP_7-zip') return { path: join(path, name), name };
    return { path: written(`${path}-content-${index}`, documents[index]?.bytes ?? Buffer.alloc(0)), name };
  });
  return { file, content };
}

function written(path: string, bytes: Buffer): string {
  writeFileSync(path, bytes);
  return path;
}

/**
 * UTF-16 becomes UTF-8, because DSS takes a file in UTF-16 for something else than XML. The canonical form, which is signed, is the same in all encodings
 * (Canonical XML §2.1).
 */
function inUtf8(xml: Buffer): Buffer {
  if (xml[0] !== 0xff || xml[1] !== 0xfe) return xml;
  return Buffer.from(new TextDecoder('utf-16le', { fatal: true }).decode(xml).replace(/ encoding="UTF-16"/, ''));
}

/** Unpacks a container; returns the path of the signature. */
function unpacked(container: string, directory: string): string {
  mkdirSync(directory);
  // Without a locale, unzip writes the names that are not ASCII in its own way.
  execFileSync('unzip', ['-q', container, '-d', directory], { env: { ...process.env, LC_ALL: 'C.UTF-8' } });
  return join(directory, 'signature.xml');
}

/** The URIs of the references that lead out of the signature, in their order. */
function contentUris(xml: string): string[] {
  return [...xml.matchAll(/<ds:Reference [^>]*URI="([^"#][^"]*)"/g)].map(([, uri = '']) =>
    uri.replaceAll('&apos;', "'").replaceAll('&amp;', '&'),
  );
}
