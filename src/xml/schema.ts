import type { Engine, Pointer } from './engine.ts';
import { nodeTypes, offsets } from './engine.ts';
import { XmlDocument } from './xml-document.ts';

/** The first violation of a schema that a validation found. */
export interface SchemaViolation {
  /** `xmlParserErrors` of libxml2, such as 1871 for an element that is not expected. */
  readonly code: number;
  /** Local name of the element that breaks the rule. */
  readonly element: string;
  /** Of the start tag, from 1; 0 if unknown. */
  readonly line: number;
  /** The rule in the words of libxml2, without namespaces and without the name of the element. */
  readonly message: string;
}

const schemaInstance = 'http://www.w3.org/2001/XMLSchema-instance';
const locationAttributes = ['schemaLocation', 'noNamespaceSchemaLocation'];

/**
 * A W3C XML schema (XML Schema 1.0, Part 1). It is parsed once in each engine, and kept there as
 * long as the engine is.
 */
export class XmlSchema {
  readonly #text: () => string;
  readonly #parsed = new WeakMap<Engine, Pointer>();

  /**
   * `text`: the complete schema, called when it is needed: what it imports or includes is not
   * loaded.
   */
  constructor(text: () => string) {
    this.#text = text;
  }

  /**
   * Validates a document. Its hints at locations of schemas are removed from it, so that nothing is
   * loaded.
   */
  violation(document: XmlDocument): SchemaViolation | undefined {
    const { engine } = document;
    const { library } = engine;
    const schema = this.#schemaIn(engine);
    removeLocations(document);
    const context = library._xmlSchemaNewValidCtxt(schema);
    if (context === 0) throw new RangeError('the XML engine is out of memory');
    const { outcome, errors } = engine.withErrors(() => {
      library._xmlSchemaSetValidStructuredErrors(context, engine.errorFunction, 0);
      return library._xmlSchemaValidateDoc(context, document.address);
    });
    library._xmlSchemaFreeValidCtxt(context);
    if (outcome === 0) return undefined;
    const [error] = errors;
    if (outcome < 0 || error === undefined) throw new Error(`the validation against a schema failed: ${error?.message ?? outcome}`);
    const text = error.message.replaceAll(/\{[^}]*\}/g, '').replace(/\.$/, '');
    const [, element = '', attribute, rule = text] = /^Element '([^']*)'(?:, attribute '([^']*)')?: ([^]*)$/.exec(text) ?? [];
    const isNamed = attribute === undefined || rule.includes(`'${attribute}'`);
    const message = isNamed ? rule : `attribute ${attribute}: ${rule}`;
    return { code: error.code, element, line: error.line, message };
  }

  #schemaIn(engine: Engine): Pointer {
    const known = this.#parsed.get(engine);
    if (known !== undefined) return known;
    const { library } = engine;
    // The schema refers to its document, so the document is not disposed.
    const document = XmlDocument.parse(Buffer.from(this.#text()), engine);
    const context = library._xmlSchemaNewDocParserCtxt(document.address);
    const { outcome: schema, errors } = engine.withErrors(() => {
      library._xmlSchemaSetParserStructuredErrors(context, engine.errorFunction, 0);
      return library._xmlSchemaParse(context);
    });
    library._xmlSchemaFreeParserCtxt(context);
    if (schema === 0) throw new Error(`the schema cannot be used: ${errors[0]?.message ?? 'unknown reason'}`);
    this.#parsed.set(engine, schema);
    return schema;
  }
}

function removeLocations(document: XmlDocument): void {
  const { engine } = document;
  if (!document.mentions('chemaLocation')) return;
  engine.withTexts([schemaInstance, ...locationAttributes], (namespace = 0, ...names) => {
    for (const element of document.elements())
      for (const name of names) {
        const attribute = engine.library._xmlHasNsProp(element, name, namespace);
        if (attribute !== 0 && engine.get(attribute, offsets.type) === nodeTypes.attribute) engine.library._xmlRemoveProp(attribute);
      }
  });
}
