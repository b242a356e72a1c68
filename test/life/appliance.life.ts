import { afterAll, beforeAll, describe } from 'vitest';
import { whyNotInstallable } from '../support/booted-systemd.ts';
import { skipNote } from '../support/skip-note.ts';
import { Appliance } from './appliance.ts';
import { clients } from './clients.ts';
import { databases } from './databases.ts';
import { firstDay } from './first-day.ts';
import { fullDisk } from './full-disk.ts';
import { purges } from './purges.ts';
import { restores } from './restores.ts';
import { rotatedRoot } from './rotated-root.ts';
import { upgrades } from './upgrades.ts';
import { wrongPin } from './wrong-pin.ts';

const reason = whyNotInstallable();
const first = '0.0.6-1';
const versions = ['0.0.7-1', '0.0.8-1', '0.0.9-1'] as const;
const appliance = new Appliance();

beforeAll(async () => {
  if (reason === undefined) await appliance.boot([first, ...versions]);
});

afterAll(async () => {
  await appliance.remove();
});

describe.skipIf(reason !== undefined)(`an appliance${skipNote(reason)}`, () => {
  describe('on its first day', () => {
    firstDay(appliance, first);
  });
  describe('with a wrong PIN', () => {
    wrongPin(appliance);
  });
  describe('in three upgrades', () => {
    upgrades(appliance, versions);
  });
  describe('restored from a backup', () => {
    restores(appliance);
  });
  describe('and its clients', () => {
    clients(appliance);
  });
  describe('with another database', () => {
    databases(appliance);
  });
  describe('with a new root', () => {
    rotatedRoot(appliance);
  });
  describe('with a full disk', () => {
    fullDisk(appliance);
  });
  describe('at its end', () => {
    purges(appliance, versions[2]);
  });
});
