/** What a character may mean to the end of a sentence. */
export type CharacterKind =
  | 'lower'
  | 'upper'
  /** A letter of a script without case: Chinese, Japanese, Korean, Arabic… */
  | 'letter'
  | 'digit'
  | 'space'
  | 'newline'
  /** `.`, which ends a sentence or not. */
  | 'stop'
  /** `…`, which ends one if a sentence begins behind it. */
  | 'ellipsis'
  /** `!` and `?`, which end one except inside addresses and code. */
  | 'mark'
  /** `。` and its like, which always end one. */
  | 'end'
  /** A closing bracket or quote: directly behind an end it belongs to the sentence. So does the end of an emphasis in markdown. */
  | 'closer'
  /** A quote that opens in some languages and closes in others. */
  | 'quote'
  /** Directly behind an end: the sentence goes on. */
  | 'comma'
  | 'emoji'
  /** Belongs to the character before it: accents, variation selectors, joiners. */
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

/** Most of a Chinese, Japanese or Korean text, told without asking for properties. */
const commonLetter = /[\u4e00-\u9fff\u3041-\u3096\u30a1-\u30fa\uac00-\ud7a3]/

/** `character`: one code point. */
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

/** What closes a quote that was opened by these: «French», »German«, „German“. */
const partners: Readonly<Record<string, string>> = { '«': '»', '»': '«', '‹': '›', '›': '‹', '„': '“', '‚': '‘' }

/** Which quotes are open in the paragraph, to tell an opening one from a closing one where the character alone does not. */
export class OpenQuotes {
  #awaited = ''

  /** True when `quote` would close one. */
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
