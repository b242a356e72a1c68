import { describe, expect, it } from 'vitest';
import { askedFormat } from '../../src/signatures/formats.ts';
import { requestRules } from '../support/request-rules.ts';

const rules = requestRules;
const xp7 = (more: object): object => ({ XP7Format: 'CXP_7', XP7Providers: { CXP7Parameters: { detached: true } }, ...more });

describe('the table of formats', () => {
  it('takes SHA-1 only for the tenants that the configuration names', () => {
    const parameters = { XP7Signature: xp7({ digestAlgorithm: 'SHA_1' }) };
    expect(() => askedFormat(parameters as never, rules)).toThrow(expect.objectContaining({ code: 'UNSUPPORTED' }) as Error);
    expect(askedFormat(parameters as never, { ...requestRules, allowSha1: true })).toMatchObject({ format: 'cms', isText: false });
  });

  it('finds the format, and what it takes', () => {
    expect(askedFormat({ rawSignature: {} }, rules)).toMatchObject({ format: 'raw', takesDigests: true, takesPasswords: false });
    expect(askedFormat({ XP7Signature: xp7({}) } as never, rules)).toMatchObject({ format: 'cms', takesDigests: false });
  });

  it.each([
    [{ envelopedXAdESSignature: {} }, true],
    [{ XP7Signature: { XP7Format: 'EXXP_7' } }, true],
    [{ XP7Signature: { XP7Format: 'EGXXP_7' } }, true],
    [{ XP7Signature: { XP7Format: 'DXXP_7' } }, true],
    [{ XP7Signature: { XP7Format: 'DXXP_7', XP7Providers: { DXXP7Parameters: { signatureContainerType: 'ZIP' } } } }, false],
  ])('knows whether the evidence of %j is text: %s', (parameters, isText) => {
    expect(askedFormat(parameters as never, rules)).toMatchObject({ isText, takesDigests: false, takesPasswords: false });
  });

  it.each([
    [{}, 'FIELDS_INCONSISTENT', '/parameters'],
    [{ rawSignature: {}, XP7Signature: xp7({}) }, 'FIELDS_INCONSISTENT', '/parameters'],
    [
      { code2DDocSignature: { code2DDocParameters: { text: '2D\u0000' } } },
      'FIELD_INVALID',
      '/parameters/code2DDocSignature/code2DDocParameters/text',
    ],
    [
      { XP7Signature: xp7({ longTermValidation: {}, XP7Format: 'DXXP_7' }) },
      'FIELDS_INCONSISTENT',
      '/parameters/XP7Signature/longTermValidation',
    ],
  ])('refuses %j with %s at %s', (parameters, code, at) => {
    expect(() => askedFormat(parameters as never, rules)).toThrow(expect.objectContaining({ code, at }) as Error);
  });
});
