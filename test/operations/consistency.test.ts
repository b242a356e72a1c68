import { describe, expect, it } from 'vitest';
import { requestedSignature } from '../../src/operations/sign/consistency.ts';

const checkUrl = (): void => undefined;

describe('requestedSignature', () => {
  it('lets SHA-1 pass for the tenants alone that the configuration names', () => {
    const parameters = {
      XP7Signature: { XP7Format: 'CXP_7', digestAlgorithm: 'SHA_1', XP7Providers: { CXP7Parameters: { detached: true } } },
    } as const;
    expect(() => requestedSignature(parameters, { allowSha1: false, checkUrl })).toThrow(
      expect.objectContaining({ code: 'UNSUPPORTED' }) as Error,
    );
    expect(requestedSignature(parameters, { allowSha1: true, checkUrl })).toEqual(expect.objectContaining({ kind: 'cms', detached: true }));
  });
});
