import { describe, expect, it } from 'vitest';
import { centralDirectory, directoryBytes, dosTime, localHeader, localHeaderBytes } from '../../src/zip/headers.ts';
import { zipFault } from '../../src/zip/limits.ts';

const entries = (count: number) => Array.from({ length: count }, (_, index) => ({ name: String(index), bytes: 0 }));

describe('a container', () => {
  it('has so many entries as its fields can count, and not more', () => {
    expect(zipFault(entries(65_534))).toBeUndefined();
    expect(zipFault(entries(65_535))).toEqual({ kind: 'SIZE', text: 'a ZIP container holds at most 65534 entries' });
  });

  it('has so many bytes as its fields can count, with its headers, and not more', () => {
    const names = ['a', 'été'];
    const headers = names.reduce((sum, name) => sum + localHeaderBytes(name), 0) + directoryBytes(names);
    expect(headers).toBe(2 * 30 + 2 * 46 + 22 + 2 * (1 + 5));
    const room = 0xffff_fffe - headers;
    const fault = (bytes: number): unknown =>
      zipFault([
        { name: 'a', bytes: 1 },
        { name: 'été', bytes },
      ]);
    expect(fault(room - 1)).toBeUndefined();
    expect(fault(room)).toMatchObject({ kind: 'SIZE', text: expect.stringContaining('at most 4294967294 bytes') as string });
  });

  it('names the entry whose name is wrong, before anything else', () => {
    const wrong = { name: '../b', bytes: 0 };
    expect(zipFault([...entries(2), wrong, wrong])).toMatchObject({ kind: 'NAME', entry: 2 });
    expect(
      zipFault([
        { name: 'A', bytes: 2 ** 40 },
        { name: 'b', bytes: 0 },
        { name: 'a', bytes: 0 },
      ]),
    ).toMatchObject({ kind: 'NAME', entry: 2 });
    expect(zipFault([])).toBeUndefined();
  });
});

describe('the records of an entry', () => {
  const entry = { name: 'é', method: 'DEFLATED', crc32: 0x01020304, bytes: 0x11121314, storedBytes: 0x21222324 } as const;
  const time = dosTime(new Date('2026-11-24T13:14:15Z'));

  it('say the same in its header and in the directory', () => {
    const local = localHeader(entry, time);
    const directory = centralDirectory([entry, { ...entry, name: 'b', method: 'STORED' }], time);
    expect(local.toString('hex')).toBe('504b0304140000080800c769785d04030201242322211413121102000000c3a9');
    const first = directory.subarray(0, 48);
    expect(first.toString('hex')).toBe(`504b01021403${local.toString('hex', 4, 30)}${'0000'.repeat(3)}0000a48100000000c3a9`);
    const second = directory.subarray(48);
    expect([second.readUInt16LE(8), second.readUInt16LE(10), second.readUInt32LE(42)]).toEqual([0, 0, 32 + 0x21222324]);
    const end = directory.subarray(-22);
    expect([end.toString('latin1', 0, 4), end.readUInt16LE(8), end.readUInt16LE(10), end.readUInt32LE(12), end.readUInt32LE(16)]).toEqual([
      ...['PK\x05\x06', 2, 2, 48 + 47, 2 * 0x21222324 + 32 + 31],
    ]);
  });

  it('have the time in steps of two seconds, in UTC', () => {
    expect(dosTime(new Date('1980-01-01T00:00:00Z'))).toEqual({ date: 0x21, time: 0 });
    expect(dosTime(new Date('2107-12-31T23:59:59Z'))).toEqual({ date: 0xff9f, time: 0xbf7d });
  });
});
