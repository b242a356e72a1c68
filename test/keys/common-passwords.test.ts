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
    ...['Password 2026!', 'password 1', 'pass word', 'p a s s w o r d', 'pass-word', 'Pass_Word_2026', 'password-01012026'],
    ...['2026password!', '!!password!!', '123password', '6letmein', 'pass\u{AD}word', 'password\u{200B}', '(P@ssw0rd)'],
  ])('that is common is refused, however it is varied: %s', (password) => {
    expect(commonPasswordFault(password, context)).toBe(tried);
  });

  it.each([
    'zzzzzzzzz',
    'xyxyxyxyxyxy',
    'kuzkuzkuzkuz',
    '%%%%%%%%',
    'mnopqrstuv',
    'ZYXWVUTS',
    'vwxyzvwxyz',
    'kuz-kuz-kuz',
    'uuuuuzzzzz',
    '1098765432',
  ])('that repeats or counts is refused: %s', (password) => {
    expect(commonPasswordFault(password, context)).toBe(regular);
  });

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
    ...['33612345678', '+33 6 12 34 56 78', '06 12 34 56 78', '0612345678', 'signetd2026', 'S1gnetd!'],
    ...['signetd archive server', 'notaires-lyon/2026/signetd'],
  ])('that is a name which a guesser knows is refused: %s', (password) => {
    expect(commonPasswordFault(password, context)).toBe(named);
  });

  it.each(['15/08/1927', '1985-08-15', '31.12.2026', '12-31-2026', '20261231'])('that is a date is refused: %s', (password) => {
    expect(commonPasswordFault(password, context)).toBe('the password is a date');
  });

  it.each([
    ...['15/08/198512', '99/99/1985', '48291736', '06 12 34 56 79', 'passing wordy', 'w o r d y', 'kuz-kuz-kuzen'],
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
