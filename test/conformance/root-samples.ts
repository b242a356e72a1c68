import { sign } from 'node:crypto';
import { certifyAuthority, newRoot } from '../../src/certificates/new-authority.ts';
import { subjectName } from '../../src/certificates/subject.ts';
import { newKeyId } from '../../src/token/key-id.ts';
import type { Token } from '../../src/token/token.ts';
import { pem } from '../certificates/openssl.ts';
import { softwareKey, type SoftwareKey } from '../certificates/software-authority.ts';

export const rootKeyTypes = ['P-256', 'P-384'] as const;
type RootKeyType = (typeof rootKeyTypes)[number];

/** The keys of roots in memory, as a token signs with them. */
function rootsToken(type: RootKeyType): Token {
  const keys = new Map<string, SoftwareKey>();
  const only: Pick<Token, 'createKey' | 'signAsService' | 'random'> = {
    createKey: async (id) => {
      const key = softwareKey(type);
      keys.set(id, key);
      return Promise.resolve(key.subjectPublicKeyInfo);
    },
    signAsService: async (id, algorithm, message) => {
      const key = keys.get(id)?.privateKey;
      if (key === undefined) throw new Error(`no key ${id}`);
      return Promise.resolve(sign(algorithm.hash, message, { key, dsaEncoding: 'ieee-p1363' }));
    },
    random: async (bytes) => Promise.resolve(crypto.getRandomValues(new Uint8Array(bytes))),
  };
  // The making of roots asks for nothing else.
  return only as Token;
}

/**
 * Returns, by file name, a root, its successor, and the certificates between the two (RFC 4210 §4.4):
 * each with the name of its issuer's file.
 */
export async function rootSamples(type: RootKeyType): Promise<{ readonly file: string; readonly text: string; readonly issuer: string }[]> {
  const token = rootsToken(type);
  const urlsOf = (name: string): { crl: string[]; ocsp: string[]; caIssuers: string[] } => ({
    crl: [`http://pki.example.org/pki/${name}.crl`],
    ocsp: [`http://pki.example.org/ocsp/${name}`],
    caIssuers: [`http://pki.example.org/pki/${name}.cer`],
  });
  const root = async (commonName: string, urls: string): ReturnType<typeof newRoot> =>
    newRoot(token, {
      keyId: newKeyId('root'),
      ...{ keyType: type, years: 20, urls: urlsOf(urls) },
      name: subjectName({ country: 'FR', organizationName: 'Example SA', commonName }),
    });
  const [old, next] = [await root('Root CA', 'root'), await root('Root CA 2', 'root-2')];
  const newWithOld = await certifyAuthority(token, old, next, { years: 20, urls: urlsOf('root') });
  const oldWithNew = await certifyAuthority(token, next, old, { years: 20, notAfterMax: old.certificate.notAfter, urls: urlsOf('root-2') });
  const [oldFile, newFile] = [`old-root-${type}.pem`, `new-root-${type}.pem`];
  return [
    { file: oldFile, text: pem(old.certificate.der), issuer: oldFile },
    { file: newFile, text: pem(next.certificate.der), issuer: newFile },
    { file: `new-with-old-${type}.pem`, text: pem(newWithOld), issuer: oldFile },
    { file: `old-with-new-${type}.pem`, text: pem(oldWithNew), issuer: newFile },
  ];
}
