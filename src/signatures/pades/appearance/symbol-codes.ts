/** Characters of the font Symbol from 0x20 on (ISO 32000-2, annex D.5). */
const symbolLow = ' !∀#∃%&∋()∗+,−./0123456789:;<=>?≅ΑΒΧΔΕΦΓΗΙϑΚΛΜΝΟΠΘΡΣΤΥςΩΞΨΖ[∴]⊥_‾αβχδεφγηιϕκλμνοπθρστυϖωξψζ{|}∼';
/** And from 0xa0 on; a space where it has none. */
const symbolHigh = '€ϒ′≤⁄∞ƒ♣♦♥♠↔←↑→↓°±″≥×∝∂•÷≠≡≈…⏐⎯↵ℵℑℜ℘⊗⊕∅∩∪⊃⊇⊄⊂⊆∈∉∠∇®©™∏√⋅¬∧∨⇔⇐⇑⇒⇓◊⟨®©™∑⎛⎜⎝⎡⎢⎣⎧⎨⎩⎪ ⟩∫⌠⎮⌡⎞⎟⎠⎤⎥⎦⎫⎬⎭ ';
/** Characters of the font ZapfDingbats from 0x20 on (annex D.6). */
const dingbatsLow = ' ✁✂✃✄☎✆✇✈✉☛☞✌✍✎✏✐✑✒✓✔✕✖✗✘✙✚✛✜✝✞✟✠✡✢✣✤✥✦✧★✩✪✫✬✭✮✯✰✱✲✳✴✵✶✷✸✹✺✻✼✽✾✿❀❁❂❃❄❅❆❇❈❉❊❋●❍■❏❐❑❒▲▼◆❖◗❘❙❚❛❜❝❞';
/** And from 0xa0 on. */
const dingbatsHigh = ' ❡❢❣❤❥❦❧♣♦♥♠①②③④⑤⑥⑦⑧⑨⑩❶❷❸❹❺❻❼❽❾❿➀➁➂➃➄➅➆➇➈➉➊➋➌➍➎➏➐➑➒➓➔→↔↕➘➙➚➛➜➝➞➟➠➡➢➣➤➥➦➧➨➩➪➫➬➭➮➯ ➱➲➳➴➵➶➷➸➹➺➻➼➽➾ ';

const tables = {
  SYMBOL: [Array.from(symbolLow), Array.from(symbolHigh)],
  ZAPF_DINGBATS: [Array.from(dingbatsLow), Array.from(dingbatsHigh)],
} as const;

/**
 * Returns what a font of symbols shows for the codes of a text. Characters that are no codes stay.
 */
export function symbolText(text: string, font: keyof typeof tables): string {
  const [low, high] = tables[font];
  return Array.from(text, (character) => {
    // A space that is not broken is one in every font here.
    if (character === '\u00a0') return character;
    const code = character.codePointAt(0) ?? 0;
    return (code < 0xa0 ? low[code - 0x20] : high[code - 0xa0]) ?? character;
  }).join('');
}
