import { expect, test } from 'vitest';
import { parseJsonLine } from '../../src/audit/line.ts';

test.each([
  ['as it is written', Buffer.from('{"a":[1,"é"]}'), { value: { a: [1, 'é'] }, isAsWritten: true }],
  ['with a blank', Buffer.from('{"a": 1}'), { value: { a: 1 }, isAsWritten: false }],
  ['with a member twice', Buffer.from('{"a":2,"a":1}'), { value: { a: 1 }, isAsWritten: false }],
  ['with an escape that is not needed', Buffer.from('{"\\u0061":1}'), { value: { a: 1 }, isAsWritten: false }],
  ['that is cut', Buffer.from('{"a":1'), 'it is not JSON'],
  ['that is empty', Buffer.alloc(0), 'it is not JSON'],
  ['that is not UTF-8', Buffer.from([0x22, 0xff, 0x22]), 'it is not UTF-8'],
])('a line %s', (_what, bytes, expected) => {
  expect(parseJsonLine(bytes)).toEqual(expected);
});
