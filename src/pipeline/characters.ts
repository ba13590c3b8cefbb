/** How a character affects where a sentence ends. */
export type CharacterKind =
  | 'lower'
  | 'upper'
  /** A letter of a script without case: Chinese, Japanese, Korean, Arabic… */
  | 'letter'
  | 'digit'
  | 'space'
  | 'newline'
  /** The full stop `.`, which may end a sentence. */
  | 'stop'
  /** The ellipsis `…`, which ends a sentence if another sentence starts after the ellipsis. */
  | 'ellipsis'
  /** The marks `!` and `?`, which end a sentence except inside URLs and code. */
  | 'mark'
  /** The character `。` and similar characters, which always end a sentence. */
  | 'end'
  /**
   * A closing bracket or quote, or the end of an emphasis in Markdown. Directly after the end of a sentence, it belongs to that sentence.
   */
  | 'closer'
  /** A quote that opens in some languages and closes in others. */
  | 'quote'
  /** A comma or similar character. Directly after a full stop or another mark, it shows that the sentence continues. */
  | 'comma'
  | 'emoji'
  /** A character that belongs to the preceding one: accents, variation selectors, joiners. */
  | 'joiner'
  | 'other'

const listed = new Map<string, CharacterKind>()
const list = (kind: CharacterKind, characters: string) => {
  for (const character of characters) listed.set(character, kind)
}
list('newline', '\n\u2028\u2029')
list('stop', '.．')
list('ellipsis', '…⋯')
list('mark', '!?')
list('end', '。｡！？؟۔।॥‼⁇⁈⁉')
list('closer', ')]}"\'”’」』）》〉】〕］｝＂＇*_~`')
list('quote', '«»‹›„“‚‘')
list('comma', ',;:-–—‑、，；：､')
list('space', ' \t\r\u00a0\u3000')
for (let code = 0; code < 128; code++) {
  const character = String.fromCharCode(code)
  if (!listed.has(character)) listed.set(character, kindByProperty(character))
}

/** The most common letters of Chinese, Japanese and Korean, which are recognized without looking up Unicode properties. */
const commonLetter = /[\u4e00-\u9fff\u3041-\u3096\u30a1-\u30fa\uac00-\ud7a3]/

/** Classifies `character`, which is one code point. */
export function kindOf(character: string): CharacterKind {
  return listed.get(character) ?? (commonLetter.test(character) ? 'letter' : kindByProperty(character))
}

function kindByProperty(character: string): CharacterKind {
  if (/\p{Ll}/u.test(character)) return 'lower'
  if (/[\p{Lu}\p{Lt}]/u.test(character)) return 'upper'
  if (/\p{L}/u.test(character)) return 'letter'
  if (/\p{N}/u.test(character)) return 'digit'
  if (/\s/u.test(character)) return 'space'
  if (/[\p{Extended_Pictographic}\p{Emoji_Modifier}\p{Regional_Indicator}]/u.test(character)) return 'emoji'
  if (/[\p{M}\p{Cf}]/u.test(character)) return 'joiner'
  return 'other'
}

/** The closing quote for each opening quote: «French», »German«, „German“. */
const partners: Readonly<Record<string, string>> = { '«': '»', '»': '«', '‹': '›', '›': '‹', '„': '“', '‚': '‘' }

/** The quotes that are open in the paragraph. They decide whether an ambiguous quote opens or closes. */
export class OpenQuotes {
  #awaited = ''

  /** Whether `quote` would close an open quote. */
  closes(quote: string): boolean {
    return this.#awaited.includes(quote)
  }

  take(quote: string): void {
    const partner = partners[quote] ?? ''
    if (this.closes(quote)) this.#awaited = this.#awaited.replace(quote, '')
    else if (!this.closes(partner)) this.#awaited += partner
  }

  clear(): void {
    this.#awaited = ''
  }
}
