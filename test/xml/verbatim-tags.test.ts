import { expect, it } from 'vitest';
import type { CanonicalPart } from '../../src/xml/canonical-part.ts';
import { canonicalForm } from './canonical-form.ts';

const whole = (xml: string): string => canonicalForm(xml, { apex: undefined, algorithm: 'C14N' });

it.each([
  ['<a b="1"></a>', '<a b="1"></a>'],
  ['<a  b="1"></a>', '<a b="1"></a>'],
  ['<a\nb="1"></a>', '<a b="1"></a>'],
  ['<a\tb="1"></a>', '<a b="1"></a>'],
  ['<a \nb="1"></a>', '<a b="1"></a>'],
  ['<a b ="1"></a>', '<a b="1"></a>'],
  ['<a b= "1"></a>', '<a b="1"></a>'],
  ['<a b="1" ></a>', '<a b="1"></a>'],
  ["<a b='1'></a>", '<a b="1"></a>'],
  ['<a b="1"  c="2"></a>', '<a b="1" c="2"></a>'],
  ['<a b="1"\nc="2"></a>', '<a b="1" c="2"></a>'],
  ['<a b="&#65;"></a>', '<a b="A"></a>'],
  ['<a b="1\n2"></a>', '<a b="1 2"></a>'],
  ['<a b="&gt;"></a>', '<a b=">"></a>'],
  ["<a b='\"'></a>", '<a b="&quot;"></a>'],
  ['<a ></a>', '<a></a>'],
  ['<a></a >', '<a></a>'],
  ['<a/>', '<a></a>'],
  ['<a b="1"/>', '<a b="1"></a>'],
  ['<a xmlns=""></a>', '<a></a>'],
  ['<a b="1" xmlns:p="u:p"></a>', '<a xmlns:p="u:p" b="1"></a>'],
  ['<r><a xmlns:p="u:p"></a><a xmlns:p="u:p" b=""></a></r>', '<r><a xmlns:p="u:p"></a><a xmlns:p="u:p" b=""></a></r>'],
  ['<r xmlns:p="u:p"><a xmlns:p="u:p"></a></r>', '<r xmlns:p="u:p"><a></a></r>'],
])('one thing alone that Canonical XML writes in another way is changed: %j', (xml, form) => {
  expect(whole(xml)).toBe(form);
});

it('names are told apart that have one place in the table, though one begins with the other', () => {
  expect(whole('<a><abw/><a abw="1" a="2"/></a>')).toBe('<a><abw></abw><a a="2" abw="1"></a></a>');
});

it('an attribute that occurs twice is refused, also beside one with the same place in the table', () => {
  for (const xml of ['<a Aa="1" BB="2" Aa="3"/>', '<a a="1" abw="2" a="3"/>'])
    expect(() => whole(xml)).toThrow('an attribute occurs twice');
});

it('an apex inherits of elements around it, though others have ended in them', () => {
  const xml = '<a xml:lang="en"><b xml:space="preserve"><c/><d xml:id="i"/><e/></b><f/></a>';
  const form = (apex: number): string => canonicalForm(xml, { apex, algorithm: 'C14N' });
  expect([form(4), form(5)]).toEqual(['<e xml:lang="en" xml:space="preserve"></e>', '<f xml:lang="en"></f>']);
});

it('an apex inherits nothing of elements that have ended', () => {
  const xml = '<a><b xml:lang="en" xml:base="b/"><c xml:space="preserve"/></b><d xml:id="i" xml:base="d/"/><e xml:lang="fr"><f/></e></a>';
  const form = (apex: number, algorithm: CanonicalPart['algorithm']): string => canonicalForm(xml, { apex, algorithm });
  for (const algorithm of ['C14N', 'C14N_11'] as const) {
    expect(form(2, algorithm)).toBe('<c xml:base="b/" xml:lang="en" xml:space="preserve"></c>');
    expect(form(3, algorithm)).toBe('<d xml:base="d/" xml:id="i"></d>');
    expect(form(5, algorithm)).toBe('<f xml:lang="fr"></f>');
  }
});
