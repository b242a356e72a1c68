import { expect, it } from 'vitest';
import { clientsNamed } from '../../src/admin/client-commands.ts';

it('a client is found by its public key, though another one has that as its name, or by its name', () => {
  const victim = { name: 'victim', spki_sha256: 'a'.repeat(64) };
  const twin = { name: 'victim', spki_sha256: 'b'.repeat(64) };
  const impostor = { name: victim.spki_sha256, spki_sha256: 'c'.repeat(64) };
  const rows = [impostor, twin, victim];
  expect(clientsNamed(rows, victim.spki_sha256)).toEqual([victim]);
  expect(clientsNamed(rows, 'victim')).toEqual([twin, victim]);
  expect(clientsNamed(rows, impostor.spki_sha256)).toEqual([impostor]);
  expect(clientsNamed(rows, 'nobody')).toEqual([]);
});
