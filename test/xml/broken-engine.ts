/** Functions that the tests of broken engines run in threads. */
import { engine } from '../../src/xml/engine.ts';
import { XmlDocument } from '../../src/xml/xml-document.ts';

/** Evaluates an expression that overruns the stack of the engine, without the limits of `xpath.ts`. */
export function breakEngine(): void {
  using document = XmlDocument.parse(Buffer.from('<a/>'));
  const { library } = engine();
  const context = library._xmlXPathNewContext(document.address);
  engine().withTexts([`$x${'+1'.repeat(1950)}`], (text) => {
    const expression = library._xmlXPathCtxtCompile(context, text);
    engine().withErrors(() => library._xmlXPathCompiledEval(expression, context));
  });
}

export function canonicalForm({ text }: { readonly text: string }): string {
  using document = XmlDocument.parse(Buffer.from(text));
  return document.canonical({ algorithm: 'C14N' }).toString();
}
