import { expect, it } from 'vitest';
import { checkPinLength } from '../../src/token/operator/pin-length.ts';

const said = (length: number, min: number, max: number): string => {
  try {
    checkPinLength('PIN', Buffer.alloc(length), { min, max });
    return 'accepted';
  } catch (error) {
    return (error as Error).message;
  }
};

it.each([
  [4, 4, 8, 'accepted'],
  [8, 4, 8, 'accepted'],
  [3, 4, 8, 'the PIN has 3 characters; the token accepts 4 to 8'],
  [9, 4, 8, 'the PIN has 9 characters; the token accepts 4 to 8'],
  // CK_EFFECTIVELY_INFINITE, CK_UNAVAILABLE_INFORMATION.
  [500, 8, 0, 'accepted'],
  [7, 8, 0, 'the PIN has 7 characters; the token accepts at least 8'],
  [500, 8, 0xffffffff, 'accepted'],
  [1, 0xffffffff, 0xffffffff, 'accepted'],
])('a PIN of %i where the token says %i to %i: %s', (length, min, max, expected) => {
  expect(said(length, min, max)).toBe(expected);
});
