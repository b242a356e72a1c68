import { describe, expect, it } from 'vitest';
import * as der from '../../src/asn1/der.ts';
import {
  checkCertificationRequest,
  checkEndEntity,
  checkResponder,
  readCertificate,
  type CertificateFacts,
} from '../../src/token/host/purposes/certificate.ts';
import { checkCertificateList } from '../../src/token/host/purposes/certificate-list.ts';
import { checkDer, DerWalk, NotFit, tags } from '../../src/token/host/purposes/der-walk.ts';
import { checkResponseData } from '../../src/token/host/purposes/response-data.ts';
import { checkTimeStampAttributes } from '../../src/token/host/purposes/time-stamp-attributes.ts';
import { readGeneralizedTime, readTime } from '../../src/token/host/purposes/times.ts';

/** A structure as its elements, in their order. */
type Elements = Readonly<Record<string, Uint8Array | undefined>>;
type Check = (walk: DerWalk) => unknown;

const [begin, end] = [new Date('2026-03-02T10:00:00Z'), new Date('2026-03-05T10:00:00Z')];
const name = der.sequence(der.set(der.sequence(der.oid('2.5.4.3'), der.utf8String('Camille Martin'))));
const algorithm = der.sequence(der.oid('1.2.840.10045.4.3.2'));
const publicKey = der.sequence(algorithm, der.bitString(Uint8Array.of(1, 2)));
const validity = der.sequence(der.time(begin), der.time(end));
const something = der.nullValue();

/** Of the elements that are there. */
function encoded(elements: Elements): Buffer {
  return Buffer.concat(Object.values(elements).filter((element) => element !== undefined));
}

/** Looks as the host does: at the whole message in DER first. */
function look(check: Check, elements: Elements): void {
  const message = Buffer.from(der.sequence(encoded(elements)));
  checkDer(message);
  check(new DerWalk(message).inside(tags.sequence, 'the message'));
}

function refuses(check: Check, elements: Elements): void {
  expect(() => {
    look(check, elements);
  }).toThrow(NotFit);
}

/**
 * Each element has to be there, as what it is, and nothing may follow the last one; what is wrong is said. `whole`: what they stand in.
 */
function needsEach(check: Check, structure: string, elements: Elements, whole: (elements: Elements) => Elements = (same) => same): void {
  look(check, whole(elements));
  for (const key of Object.keys(elements)) {
    refuses(check, whole({ ...elements, [key]: undefined }));
    const said = key.endsWith('Update') || key === 'producedAt' ? 'a time' : key;
    expect(() => {
      look(check, whole({ ...elements, [key]: something }));
    }).toThrow(`${said} is missing`);
  }
  expect(() => {
    look(check, whole({ ...elements, more: something }));
  }).toThrow(`${structure} has extra elements`);
}

const extensionOf = (oid: string, value: Uint8Array, ...between: Uint8Array[]): Uint8Array =>
  der.sequence(der.oid(oid), ...between, der.octetString(value));

describe('a certificate that is to be signed', () => {
  const keyUsage = extensionOf('2.5.29.15', der.bitString(Uint8Array.of(0x80), 7), der.boolean(true));
  const extensions = (...list: Uint8Array[]): Uint8Array => der.explicit(3, der.sequence(...list));
  const certificate: Elements = {
    version: der.explicit(0, der.integer(2)),
    serialNumber: der.integer(5),
    signature: algorithm,
    issuer: name,
    validity,
    subject: name,
    subjectPublicKeyInfo: publicKey,
    extensions: extensions(keyUsage),
  };
  const factsOf = (changes: Elements): CertificateFacts => readCertificate(new DerWalk(encoded({ ...certificate, ...changes })));
  const factsWith = (...list: Uint8Array[]): CertificateFacts => factsOf({ extensions: extensions(...list) });
  const refused = (changes: Elements): void => {
    refuses(readCertificate, { ...certificate, ...changes });
  };

  it('has all of its elements, and no others', () => {
    needsEach(readCertificate, 'TBSCertificate', certificate);
    expect(factsOf({})).toEqual({ keyUsage: 0x80, isAuthority: false, purposes: [], validityDays: 3 });
  });

  it('is of version 3, with a positive serial number of 20 octets at most and an issuer', () => {
    for (const version of [der.integer(1), der.integer(3), der.integer(0x02_00)]) refused({ version: der.explicit(0, version) });
    refused({ version: der.explicit(0, der.concat(der.integer(2), der.integer(2))) });
    for (const good of [Uint8Array.of(1), Uint8Array.of(0x7f), Uint8Array.of(0, 0x80), Buffer.alloc(20, 0x7f)])
      look(readCertificate, { ...certificate, serialNumber: der.tagged(tags.integer, good) });
    for (const bad of [Uint8Array.of(0), Uint8Array.of(0x80), Uint8Array.of(0xfe, 1), Buffer.alloc(21, 1)])
      refused({ serialNumber: der.tagged(tags.integer, bad) });
    refused({ issuer: der.sequence() });
  });

  it('has a period of two times', () => {
    refused({ validity: der.sequence(der.time(begin)) });
    refused({ validity: der.sequence(der.time(end), der.time(begin)) });
    refused({ validity: der.sequence(der.time(begin), der.time(end), der.time(end)) });
  });

  it('has extensions that are whole, each once, with a value in DER', () => {
    const other = extensionOf('1.2.3', something);
    look(readCertificate, { ...certificate, extensions: extensions(keyUsage, other) });
    for (const list of [
      [keyUsage, keyUsage],
      [other, keyUsage, other],
      [der.set(der.oid('1.2.3'), der.octetString(something))],
      [der.sequence(der.octetString(something))],
      [der.sequence(der.oid('1.2.3'))],
      [der.sequence(der.oid('1.2.3'), der.octetString(something), something)],
      [der.sequence(der.oid('1.2.3'), der.integer(1), der.octetString(something))],
      [extensionOf('1.2.3', something, der.boolean(true), der.boolean(true))],
      [extensionOf('1.2.3', Uint8Array.of(5))],
      [extensionOf('1.2.3', Buffer.concat([something, something]))],
    ])
      refused({ extensions: extensions(...list) });
    refused({ extensions: der.explicit(3, Buffer.concat([der.sequence(keyUsage), something])) });
    refused({ extensions: der.explicit(3, der.set(keyUsage)) });
  });

  it('says by keyUsage what its key is for', () => {
    expect(factsWith().keyUsage).toBeUndefined();
    expect(factsWith(extensionOf('2.5.29.15', der.bitString(new Uint8Array()))).keyUsage).toBe(0);
    expect(factsWith(extensionOf('2.5.29.15', der.bitString(Uint8Array.of(0x06, 0x80), 7))).keyUsage).toBe(0x06);
    refused({ extensions: extensions(extensionOf('2.5.29.15', der.octetString(Uint8Array.of(7, 0x80)))) });
  });

  it('says by basicConstraints whether it is a CA', () => {
    const constraints = (...inside: Uint8Array[]): Uint8Array => extensionOf('2.5.29.19', der.sequence(...inside));
    const [no, yes, length] = [der.boolean(false), der.boolean(true), der.integer(0)];
    for (const inside of [[], [no], [length], [no, length]]) expect(factsWith(constraints(...inside)).isAuthority).toBe(false);
    for (const inside of [[yes], [yes, length]]) expect(factsWith(constraints(...inside)).isAuthority).toBe(true);
    for (const inside of [[length, yes], [yes, yes], [yes, length, length], [something]])
      refused({ extensions: extensions(constraints(...inside)) });
    refused({ extensions: extensions(extensionOf('2.5.29.19', der.set(yes))) });
  });

  it('says by extendedKeyUsage for which purposes it is', () => {
    const usage = (...inside: Uint8Array[]): Uint8Array => extensionOf('2.5.29.37', der.sequence(...inside));
    expect(factsWith(usage()).purposes).toEqual([]);
    expect(factsWith(usage(der.oid('1.2.3'), der.oid('1.3.6.1.5.5.7.3.9'))).purposes).toEqual(['2a03', '2b06010505070309']);
    refused({ extensions: extensions(usage(der.oid('1.2.3'), something)) });
    refused({ extensions: extensions(extensionOf('2.5.29.37', der.set(der.oid('1.2.3')))) });
  });
});

describe('what a certificate says of itself', () => {
  const subscriber: CertificateFacts = { keyUsage: 0x80, isAuthority: false, purposes: [], validityDays: 10_000 };
  const [ocsp, timeStamping, any, email] = ['2b06010505070309', '2b06010505070308', '551d2500', '2b06010505070304'];
  const responder: CertificateFacts = { ...subscriber, purposes: [ocsp], validityDays: 367 };

  it('is of a subscriber or a responder, if it claims nothing stronger', () => {
    for (const good of [subscriber, responder, { ...subscriber, purposes: [email] }, { ...subscriber, keyUsage: 0xf9 }])
      checkEndEntity(good);
    for (const purposes of [[timeStamping], [any], [email, any], [ocsp, email], [ocsp, ocsp], [timeStamping, email]])
      expect(() => {
        checkEndEntity({ ...subscriber, purposes });
      }).toThrow('a purpose that subscribers must not have');
  });

  it("is a responder's for OCSP alone, and for a year at most", () => {
    checkResponder(responder);
    for (const check of [checkResponder, checkEndEntity])
      expect(() => {
        check({ ...responder, validityDays: 368 });
      }).toThrow('longer than a year');
    for (const purposes of [[], [email], [ocsp, email], [ocsp, ocsp]])
      expect(() => {
        checkResponder({ ...responder, purposes });
      }).toThrow("not an OCSP responder's certificate");
  });

  it("is no CA's", () => {
    for (const facts of [subscriber, responder]) {
      const check = facts === responder ? checkResponder : checkEndEntity;
      for (const changes of [
        { isAuthority: true },
        { keyUsage: undefined },
        ...[0x02, 0x04, 0x06, 0x84, 0xff].map((keyUsage) => ({ keyUsage })),
      ])
        expect(() => {
          check({ ...facts, ...changes });
        }).toThrow(NotFit);
      check({ ...facts, keyUsage: 0 });
    }
  });
});

describe('a request for a certificate that is to be signed', () => {
  const request: Elements = {
    version: der.integer(0),
    subject: name,
    subjectPKInfo: publicKey,
    attributes: der.implicitConstructed(0, new Uint8Array()),
  };

  it('has all of its elements, and no others', () => {
    needsEach(checkCertificationRequest, 'CertificationRequestInfo', request);
  });

  it('is of version 1, with a subject', () => {
    for (const version of [1, 0x80]) refuses(checkCertificationRequest, { ...request, version: der.integer(version) });
    refuses(checkCertificationRequest, { ...request, subject: der.sequence() });
  });
});

describe('a list of revoked certificates that is to be signed', () => {
  const extension = extensionOf('2.5.29.20', der.integer(7));
  const list: Elements = {
    version: der.integer(1),
    signature: algorithm,
    issuer: name,
    thisUpdate: der.time(begin),
    nextUpdate: der.time(end),
    crlExtensions: der.explicit(0, der.sequence(extension)),
  };
  const withEntries = (entries: Uint8Array): Elements => {
    const { crlExtensions, ...before } = list;
    return { ...before, entries, crlExtensions };
  };
  const revoked = (at: Uint8Array, number = der.integer(5)): Uint8Array => der.sequence(number, at);

  it('has all of its elements, and no others', () => {
    needsEach(checkCertificateList, 'TBSCertList', list);
  });

  it('is of version 2, with an issuer and an end after its beginning', () => {
    for (const version of [0, 2, 0x01_00]) refuses(checkCertificateList, { ...list, version: der.integer(version) });
    refuses(checkCertificateList, { ...list, issuer: der.sequence() });
    refuses(checkCertificateList, { ...list, nextUpdate: der.time(begin) });
  });

  it('has one list of extensions', () => {
    for (const inside of [
      der.sequence(extension, something),
      Buffer.concat([der.sequence(extension), der.sequence(extension)]),
      der.set(extension),
    ])
      refuses(checkCertificateList, { ...list, crlExtensions: der.explicit(0, inside) });
    look(checkCertificateList, { ...list, crlExtensions: der.explicit(0, der.sequence(extension, extension)) });
  });

  it('has entries with times of both types, up to the longest entry whose length has one octet', () => {
    const after = der.generalizedTime(new Date('2051-03-02T10:00:00Z'));
    look(checkCertificateList, withEntries(der.sequence(revoked(der.time(begin)), revoked(after))));
    // 2 + 15 octets of the time.
    const longest = revoked(der.time(begin), der.tagged(tags.integer, Buffer.alloc(127 - 15 - 2, 1)));
    expect(longest[1]).toBe(127);
    look(checkCertificateList, withEntries(der.sequence(longest, longest)));
    const longer = revoked(der.time(begin), der.tagged(tags.integer, Buffer.alloc(128 - 15 - 2, 1)));
    for (const entries of [
      [longer],
      [longest, longer],
      [revoked(der.time(begin)), something],
      [der.sequence()],
      [der.sequence(after, after)],
    ])
      refuses(checkCertificateList, withEntries(der.sequence(...entries)));
    refuses(checkCertificateList, withEntries(der.sequence()));
    refuses(checkCertificateList, withEntries(der.set(revoked(der.time(begin)))));
  });
});

describe('an answer of OCSP that is to be signed', () => {
  const certId: Elements = {
    hashAlgorithm: algorithm,
    issuerNameHash: der.octetString(Buffer.alloc(20, 1)),
    issuerKeyHash: der.octetString(Buffer.alloc(20, 2)),
    serialNumber: der.integer(5),
  };
  const good = der.implicitPrimitive(0, new Uint8Array());
  const single: Elements = { certID: der.sequence(encoded(certId)), certStatus: good, thisUpdate: der.generalizedTime(begin) };
  const responses = (...all: Elements[]): Uint8Array => der.sequence(...all.map((one) => der.sequence(encoded(one))));
  const byName = der.explicit(1, name);
  const answer: Elements = { responderID: byName, producedAt: der.generalizedTime(begin), responses: responses(single) };
  const answerOf = (...all: Elements[]): Elements => ({ ...answer, responses: responses(...all) });
  const byKey = (bytes: number, ...more: Uint8Array[]): Uint8Array =>
    der.explicit(2, Buffer.concat([der.octetString(Buffer.alloc(bytes, 3)), ...more]));

  it('has all of its elements, and no others', () => {
    needsEach(checkResponseData, 'ResponseData', answer);
    needsEach(checkResponseData, 'SingleResponse', single, (one) => answerOf(one));
    needsEach(checkResponseData, 'certID', certId, (one) => answerOf({ ...single, certID: der.sequence(encoded(one)) }));
  });

  it('names its responder by a name, or by the 20 octets of the hash of its key', () => {
    look(checkResponseData, { ...answer, responderID: byKey(20) });
    for (const responderID of [
      byKey(19),
      byKey(21),
      byKey(20, something),
      der.explicit(2, name),
      der.explicit(1, der.set()),
      der.explicit(1, Buffer.concat([name, name])),
      der.explicit(3, name),
    ])
      refuses(checkResponseData, { ...answer, responderID });
  });

  it('is about one certificate or more, each good, revoked or unknown', () => {
    const revoked = der.implicitConstructed(1, der.generalizedTime(begin));
    const unknown = der.implicitPrimitive(2, new Uint8Array());
    look(checkResponseData, answerOf(single, { ...single, certStatus: revoked }, { ...single, certStatus: unknown }));
    refuses(checkResponseData, answerOf());
    for (const certStatus of [
      der.implicitPrimitive(1, new Uint8Array()),
      der.explicit(2, something),
      der.implicitPrimitive(3, new Uint8Array()),
    ])
      refuses(checkResponseData, answerOf(single, { ...single, certStatus }));
  });

  it('may have a next update and extensions, in their order', () => {
    const [nextUpdate, extensions] = [der.explicit(0, der.generalizedTime(end)), der.explicit(1, der.sequence())];
    for (const more of [{ nextUpdate }, { extensions }, { nextUpdate, extensions }])
      look(checkResponseData, answerOf({ ...single, ...more }));
    for (const more of [
      { extensions, nextUpdate },
      { nextUpdate: der.explicit(0, der.time(end)) },
      { nextUpdate: der.explicit(0, der.concat(der.generalizedTime(end), der.generalizedTime(end))) },
      { nextUpdate, again: nextUpdate },
      { extensions, again: extensions },
      { nextUpdate, extensions, something },
    ])
      refuses(checkResponseData, answerOf({ ...single, ...more }));
    look(checkResponseData, { ...answer, extensions });
    refuses(checkResponseData, { ...answer, extensions, again: extensions });
    refuses(checkResponseData, { ...answer, nextUpdate });
  });

  it('has times of the type GeneralizedTime alone', () => {
    refuses(checkResponseData, { ...answer, producedAt: der.time(begin) });
    refuses(checkResponseData, answerOf({ ...single, thisUpdate: der.time(begin) }));
  });
});

describe('the attributes of a time-stamp that are to be signed', () => {
  const attribute = (oid: string, ...values: Uint8Array[]): Uint8Array => der.sequence(der.oid(oid), der.set(...values));
  const contentType = '1.2.840.113549.1.9.3';
  const messageDigest = '1.2.840.113549.1.9.4';
  const tstInfo = der.oid('1.2.840.113549.1.9.16.1.4');
  const type = attribute(contentType, tstInfo);
  const digest = (bytes = 32): Uint8Array => attribute(messageDigest, der.octetString(Buffer.alloc(bytes)));
  const reference = attribute('1.2.840.113549.1.9.16.2.47', der.sequence());
  const check = (attributes: readonly Uint8Array[]): void => {
    const message = Buffer.from(der.set(...attributes));
    checkDer(message);
    checkTimeStampAttributes(new DerWalk(message).inside(tags.set, 'attributes'));
  };
  const sorted = (...attributes: Uint8Array[]): Uint8Array[] => attributes.toSorted((one, other) => Buffer.compare(one, other));

  it('are the content-type, a digest of 32, 48 or 64 octets, and a reference to the certificate, by either of its attributes', () => {
    for (const bytes of [32, 48, 64]) check(sorted(type, digest(bytes), reference));
    check(sorted(type, digest(), attribute('1.2.840.113549.1.9.16.2.12', der.sequence())));
    check(sorted(type, digest(), reference, attribute('1.2.3', something)));
    const whole = [type, digest(), reference];
    for (const missing of whole)
      expect(() => {
        check(sorted(...whole.filter((one) => one !== missing)));
      }).toThrow('is missing');
    expect(() => {
      check([]);
    }).toThrow('is missing');
  });

  it('stand in the order of DER, each type once', () => {
    expect(() => {
      check(sorted(type, digest(), reference).toReversed());
    }).toThrow('not in DER order');
    for (const again of [type, digest(48), attribute('1.2.840.113549.1.9.16.2.47', der.sequence(something))])
      expect(() => {
        check(sorted(type, digest(), reference, again));
      }).toThrow(NotFit);
  });

  it.each<[string, Uint8Array[]]>([
    ['another content-type', [attribute(contentType, der.oid('1.2.840.113549.1.7.1')), digest(), reference]],
    ['a content-type of another type', [attribute(contentType, der.octetString(tstInfo.subarray(2))), digest(), reference]],
    ['a digest of 20 octets', [type, digest(20), reference]],
    ['a digest of 33 octets', [type, digest(33), reference]],
    ['a digest of another type', [type, attribute(messageDigest, der.tagged(0x0c, Buffer.alloc(32, 0x41))), reference]],
    ['two values', [type, digest(), attribute('1.2.840.113549.1.9.16.2.47', der.sequence(), der.sequence(something))]],
    ['no value', [type, digest(), attribute('1.2.840.113549.1.9.16.2.47')]],
    ['values that are no SET', [type, digest(), reference, der.sequence(der.oid('1.2.3'), der.sequence(something))]],
    ['more than its values', [type, digest(), reference, der.sequence(der.oid('1.2.3'), der.set(something), something)]],
    ['an attribute that is none', [type, digest(), reference, der.set(der.oid('1.2.3'), der.set(something))]],
  ])('are not signed with %s', (_, attributes) => {
    expect(() => {
      check(sorted(...attributes));
    }).toThrow(NotFit);
  });
});

describe('a time', () => {
  const generalized = (text: string): DerWalk => new DerWalk(der.tagged(tags.generalizedTime, Buffer.from(text)));
  const utc = (text: string): DerWalk => new DerWalk(der.tagged(tags.utcTime, Buffer.from(text)));

  it('of the type GeneralizedTime has four digits of the year, and the rest as UTCTime has it', () => {
    expect(readGeneralizedTime(generalized('20261231235959Z'))).toBe('20261231235959');
    for (const text of [
      ...['20261331235959Z', '20260031235959Z', '20261200235959Z', '20261232235959Z', '20261231245959Z', '20261231236059Z'],
      ...[
        '20261231235960Z',
        '20261231235959',
        '20261231235959z',
        '20261231235959.5Z',
        '202612312359Z',
        '20261231235959+0000',
        '20261231235959ZZ',
      ],
      ...['x0261231235959Z', '2x261231235959Z', ' 0261231235959Z', '261231235959Z', ''],
    ])
      expect(() => readGeneralizedTime(generalized(text)), text).toThrow(NotFit);
    expect(() => readGeneralizedTime(utc('261231235959Z'))).toThrow(NotFit);
  });

  it('is a UTCTime until the end of 2049, and a GeneralizedTime from 2050 on', () => {
    expect(readTime(utc('491231235959Z'))).toBe('20491231235959');
    expect(readTime(utc('500101000000Z'))).toBe('19500101000000');
    expect(readTime(generalized('20500101000000Z'))).toBe('20500101000000');
    expect(() => readTime(generalized('20491231235959Z'))).toThrow('where UTCTime is required');
    for (const text of ['20261231235959Z', ' 261231235959Z', '261231235959Z ']) expect(() => readTime(utc(text)), text).toThrow(NotFit);
    expect(() => readTime(new DerWalk(der.octetString(Buffer.from('261231235959Z'))))).toThrow(NotFit);
  });
});

describe('DER as the host reads it', () => {
  const isDer = (...bytes: number[]): boolean => {
    try {
      checkDer(Uint8Array.from(bytes));
      return true;
    } catch (error) {
      if (error instanceof NotFit) return false;
      throw error;
    }
  };
  const nested = (levels: number): Uint8Array =>
    Array.from({ length: levels }).reduce<Uint8Array>((inner) => der.sequence(inner), der.nullValue());

  it('has 24 levels at most', () => {
    checkDer(nested(24));
    expect(() => {
      checkDer(nested(25));
    }).toThrow('nested too deeply');
  });

  it('has lengths of four octets at most, in the fewest', () => {
    for (const length of [127, 128, 255, 256, 65_535, 65_536, 1 << 24]) {
      const element = Buffer.from(der.octetString(Buffer.alloc(length)));
      checkDer(element);
      expect(new DerWalk(element).content(tags.octetString, 'bytes').length).toBe(length);
      expect(() => {
        checkDer(element.subarray(0, -1));
      }).toThrow(NotFit);
    }
    expect(isDer(0x04, 0x84, 0, 0, 0, 1, 7)).toBe(false);
    expect(isDer(0x04, 0x81, 0x7f, ...Buffer.alloc(127))).toBe(false);
    expect([isDer(0x04), isDer(0x04, 0x81), isDer(0x30, 0x01, 0x05)]).toEqual([false, false, false]);
  });

  it.each<[string, number[]]>([
    ['a NULL', [0x05, 0]],
    ['two elements in one', [0x30, 4, 5, 0, 5, 0]],
    ['elements that end together, and one after them', [0x30, 8, 0x30, 4, 0x30, 2, 5, 0, 5, 0]],
    ['an empty SEQUENCE and what follows it', [0x30, 4, 0x30, 0, 5, 0]],
    ['any content of a tag of the context', [0x81, 2, 0x80, 0x80]],
    ['a SET', [0x31, 0]],
    ['EXTERNAL', [0x28, 0]],
    ['an INTEGER of 127', [2, 1, 0x7f]],
    ['an INTEGER of -1', [2, 1, 0xff]],
    ['an ENUMERATED of 128', [0x0a, 2, 0, 0x80]],
    ['a BIT STRING of one bit', [3, 2, 7, 0x80]],
    ['a BIT STRING of bits that are all zero', [3, 2, 7, 0]],
    ['a BIT STRING without unused bits', [3, 2, 0, 0xff]],
    ['an object identifier with a number of two octets', [6, 3, 0x2a, 0x81, 0x00]],
    ['an object identifier with 0x80 within a number', [6, 4, 0x2a, 0x81, 0x80, 0x00]],
    ['an object identifier of 128 octets', [6, 0x81, 0x80, ...Buffer.alloc(128, 1)]],
  ])('is %s', (_, bytes) => {
    expect(isDer(...bytes)).toBe(true);
  });

  it.each<[string, number[]]>([
    ['a tag of 0', [0, 0]],
    ['a high tag, primitive', [0x1f, 1, 0]],
    ['a high tag of the context', [0xbf, 1, 0]],
    ['a primitive SET', [0x11, 0]],
    ['a primitive EXTERNAL', [8, 0]],
    ['a constructed text', [0x2c, 0]],
    ['a constructed BOOLEAN', [0x21, 3, 1, 1, 0xff]],
    ['a BOOLEAN of two octets', [1, 2, 0xff, 0xff]],
    ['a BOOLEAN of no octets', [1, 0]],
    ['an INTEGER of 127 in two octets', [2, 2, 0, 0x7f]],
    ['an INTEGER of -128 in two octets', [2, 2, 0xff, 0x80]],
    ['an ENUMERATED of 1 in two octets', [0x0a, 2, 0, 1]],
    ['an ENUMERATED of no octets', [0x0a, 0]],
    ['a BIT STRING of no octets', [3, 0]],
    ['a BIT STRING of nothing with unused bits', [3, 1, 1]],
    ['a BIT STRING with eight unused bits', [3, 2, 8, 0]],
    ['a BIT STRING whose last unused bit is set', [3, 2, 7, 0x81]],
    ['a BIT STRING whose first unused bit is set', [3, 2, 7, 0xc0]],
    ['an object identifier of no octets', [6, 0]],
    ['an object identifier with a zero before its second number', [6, 3, 0x2a, 0x80, 1]],
    ['an object identifier whose last number goes on', [6, 2, 0x2a, 0x81]],
    ['an element after another', [5, 0, 5, 0]],
    ['an element after a SEQUENCE', [0x30, 2, 5, 0, 5, 0]],
    ['an octet after an element', [5, 0, 0]],
  ])('is not %s', (_, bytes) => {
    expect(isDer(...bytes)).toBe(false);
  });

  it('is read element by element, and not beyond the enclosing one', () => {
    const inner = der.sequence(der.integer(1), der.octetString(Buffer.alloc(300, 2)));
    const walk = new DerWalk(Buffer.concat([inner, der.integer(2)]));
    expect(walk.raw).toEqual(Buffer.from(inner));
    const inside = walk.inside(tags.sequence, 'inner');
    expect([...inside.content(tags.integer, 'one')]).toEqual([1]);
    expect([inside.tag, inside.isAtEnd]).toEqual([tags.octetString, false]);
    expect(() => {
      inside.end('inner');
    }).toThrow('has extra elements');
    expect(() => {
      inside.skip(tags.integer, 'two');
    }).toThrow('two is missing');
    inside.skip(tags.octetString, 'bytes');
    inside.end('inner');
    expect([inside.tag, inside.isAtEnd, inside.raw.length]).toEqual([undefined, true, 0]);
    expect([...walk.raw]).toEqual([2, 1, 2]);
    expect([...walk.content(tags.integer, 'two')]).toEqual([2]);
    expect(walk.isAtEnd).toBe(true);
  });
});
