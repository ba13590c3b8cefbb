/** Finds the first occurrence of a query at or after a position. Returns -1 if the query does not occur. */
export type FindText = (text: string, from: number) => number

/** Maximum length of a query that is searched with `indexOf`. For such short queries, `indexOf` is fast enough even in the worst case. */
const maxSimple = 64

/**
 * Creates a function that finds `query` in linear time, for every query and text. A naive search is slow in repetitive texts
 * (https://en.wikipedia.org/wiki/Knuth–Morris–Pratt_algorithm). `ignoreCase` compares character by character, as in `/…/iu`.
 */
export function textFinder(query: string, ignoreCase: boolean): FindText {
  if (!ignoreCase && query.length <= maxSimple) return (text, from) => text.indexOf(query, from)
  const fold = ignoreCase ? folded : (unit: number) => unit
  const wanted = Uint16Array.from({ length: query.length }, (_, at) => fold(query.charCodeAt(at)))
  const borders = bordersOf(wanted)
  return (text, from) => {
    let matched = 0
    for (let at = from; at < text.length; at++) {
      const given = text.charCodeAt(at)
      // `fold` is inlined here, because a function call for each character takes ten times as long.
      const unit = ignoreCase ? folds[given] || folded(given) : given
      while (matched > 0 && unit !== wanted[matched]) matched = borders[matched - 1] ?? 0
      if (unit === wanted[matched]) matched++
      if (matched === wanted.length) return at - wanted.length + 1
    }
    return -1
  }
}

/** Returns, for each prefix, the length of its longest proper prefix that is also its suffix. */
function bordersOf(text: Uint16Array): Uint16Array {
  const borders = new Uint16Array(text.length)
  for (let at = 1, border = 0; at < text.length; at++) {
    while (border > 0 && text[at] !== text[border]) border = borders[border - 1] ?? 0
    if (text[at] === text[border]) border++
    borders[at] = border
  }
  return borders
}

/** The case-folded form of each UTF-16 unit. 0 means that it has not been computed yet. */
const folds = new Uint16Array(0x1_0000)

/**
 * Maps the uppercase and lowercase forms of a character to the same unit. Returns `unit` itself if one of these forms is longer than one
 * unit.
 */
function folded(unit: number): number {
  const single = (text: string, otherwise: string) => (text.length === 1 ? text : otherwise)
  const character = String.fromCharCode(unit)
  const upper = single(character.toUpperCase(), character)
  const fold = single(upper.toLowerCase(), upper).charCodeAt(0)
  folds[unit] = fold
  return fold
}
