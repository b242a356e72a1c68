import { describe, expect, it } from 'vitest';
import { commonPasswordFault, type PasswordContext } from '../../src/keys/common-passwords.ts';

const context: PasswordContext = {
  ...{ tenant: 'notaires-lyon', client: 'Archive Server', emailAddress: 'Zoe.Martin@example.org', phoneNumber: '+33 6 12 34 56 78' },
};
const tried = 'this is one of the passwords that are tried first';
const regular = 'the password only repeats or counts characters';
const named = 'the password is a name or an address of the key';

describe('a new password', () => {
  it.each([
    ...['password', '12345678', 'qwertyuiop', 'iloveyou', 'sunshine', 'trustno1', 'azertyuiop', 'motdepasse', 'baseball'],
    ...[
      'PassWord',
      'PASSWORD1',
      'Password!',
      'Sunshine2026',
      'Sunshine2026!',
      'Monkey2026!!',
      'password2026!',
      'P@ssw0rd',
      'p4$$w0rd',
      'Passw0rd99',
      ' password ',
      'ｐａｓｓｗｏｒｄ',
    ],
    ...['dragon!!', 'monkey12', 'Welcome1', 'letmein1'],
  ])('that is common is refused, however it is varied: %s', (password) => {
    expect(commonPasswordFault(password, context)).toBe(tried);
  });

  it.each(['zzzzzzzzz', 'xyxyxyxyxyxy', 'kuzkuzkuzkuz', '%%%%%%%%', 'mnopqrstuv', 'ZYXWVUTS'])(
    'that repeats or counts is refused: %s',
    (password) => {
      expect(commonPasswordFault(password, context)).toBe(regular);
    },
  );

  it.each([
    ...[
      'notaires-lyon',
      'NotairesLyon',
      'Notaires-Lyon2026',
      'archive server',
      'ArchiveServer1',
      'zoe.martin',
      'ZoeMartin!',
      'zoe.martin@example.org',
    ],
    ...['33612345678', '+33 6 12 34 56 78', 'signetd2026', 'S1gnetd!'],
  ])('that is a name which a guesser knows is refused: %s', (password) => {
    expect(commonPasswordFault(password, context)).toBe(named);
  });

  it.each([
    ...[
      'correct horse battery',
      'staple battery horse',
      'another password',
      'a longer pass phrase',
      'mot de passe de Zoé',
      'Jv2mZ0lq8xWc4s1tNfR3yQ',
    ],
    ...[
      'dragon riders of 1987',
      'my password is long',
      'notaires-lyon and more',
      'abcdefgi',
      '12345687ab',
      'zoe.martin@example.com',
      '🦊🐢🦊🐍🦉🐝🦋🐌',
      '👍👍👍👍👍👍👍👍',
    ],
  ])('of another kind is taken: %s', (password) => {
    expect(commonPasswordFault(password, context)).toBeUndefined();
  });

  it('is compared with no names where there are none', () => {
    expect(
      commonPasswordFault('zoe.martin', { tenant: 'x', client: 'y', emailAddress: undefined, phoneNumber: undefined }),
    ).toBeUndefined();
  });
});
