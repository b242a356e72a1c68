import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import { XmlSchema } from '../../src/xml/schema.ts';
import { XmlDocument } from '../../src/xml/xml-document.ts';

const text = `<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" targetNamespace="urn:a" elementFormDefault="qualified">
  <xs:element name="a"><xs:complexType>
    <xs:sequence><xs:element name="b" maxOccurs="2"><xs:simpleType><xs:restriction base="xs:string"><xs:maxLength value="3"/></xs:restriction></xs:simpleType></xs:element></xs:sequence>
    <xs:attribute name="n" type="xs:unsignedByte"/>
  </xs:complexType></xs:element>
</xs:schema>`;
const schema = new XmlSchema(() => text);

function violation(xml: string, of = schema): ReturnType<XmlSchema['violation']> {
  using document = XmlDocument.parse(Buffer.from(xml));
  return of.violation(document);
}

test('a valid document breaks no rule', () => {
  expect(violation('<a xmlns="urn:a" n="255"><b>ABC</b><b/></a>')).toBeUndefined();
});

test.each([
  ['a value', '<a xmlns="urn:a">\n<b>ABCD</b></a>', 1832, 'b', 2, /length of '4'/],
  ['an attribute', '\n\n<a xmlns="urn:a" n="256"><b/></a>', 1824, 'a', 3, /^attribute n: '256' is not a valid value/],
  ['an attribute that is not declared', '<a xmlns="urn:a" m=""><b/></a>', 1866, 'a', 1, /^The attribute 'm' is not allowed$/],
  ['an element', '<a xmlns="urn:a"><b/>\n<c/></a>', 1871, 'c', 2, /^This element is not expected/],
  ['the root', '<b xmlns="urn:a"/>', 1845, 'b', 1, /^No matching global declaration/],
  ['no namespace', '<a/>', 1845, 'a', 1, /^No matching global declaration/],
])('names the element, the line and the rule: %s', (_, xml, code, element, line, message) => {
  expect(violation(xml)).toEqual({ code, element, line, message: expect.stringMatching(message) as string });
});

test('gives the first of several violations', () => {
  expect(violation('<a xmlns="urn:a">\n<b>ABCD</b>\n<b>ABCDE</b>\n<b/></a>')).toMatchObject({ element: 'b', line: 2 });
});

test('a schema is parsed once', () => {
  let times = 0;
  const counted = new XmlSchema(() => {
    times += 1;
    return text;
  });
  for (let round = 0; round < 3; round += 1) violation('<a xmlns="urn:a"><b/></a>', counted);
  expect(times).toBe(1);
});

test('a schema that is none is an error of the service', () => {
  expect(() => violation('<a/>', new XmlSchema(() => '<a/>'))).toThrow('the schema cannot be used');
  expect(() => violation('<a/>', new XmlSchema(() => text.replace('xs:unsignedByte', 'xs:unknown')))).toThrow('the schema cannot be used');
});

test('hints at schemas are taken out of the document, wherever they are, and nothing else', () => {
  const names = 'xsi:schemaLocation="urn:a x" xsi:noNamespaceSchemaLocation="y" xsi:nil="false" schemaLocation="z"';
  using document = XmlDocument.parse(
    Buffer.from(`<a xmlns="urn:a" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" ${names}><b ${names}/></a>`),
  );
  schema.violation(document);
  const rest = 'schemaLocation="z" xsi:nil="false"';
  expect(document.canonical({ algorithm: 'C14N' }).toString()).toBe(
    `<a xmlns="urn:a" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" ${rest}><b ${rest}></b></a>`,
  );
});

test('hints at schemas in the document are ignored, and nothing is fetched', async () => {
  const asked: (string | undefined)[] = [];
  const server = createServer((request, response) => {
    asked.push(request.url);
    response.end();
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const at = `http://127.0.0.1:${(server.address() as AddressInfo).port}/x.xsd`;
  const hints = `xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:schemaLocation="urn:b ${at} urn:a ${at}" xsi:noNamespaceSchemaLocation="${at}"`;
  expect(violation(`<a xmlns="urn:a" ${hints}><b ${hints}/></a>`)).toBeUndefined();
  await new Promise((resolve) => server.close(resolve));
  expect(asked).toEqual([]);
});
