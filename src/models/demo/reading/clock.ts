import type { ClockAspect, Question } from '../intents.ts'
import type { Token } from './tokens.ts'
import { isGrammarWord, isOneOf, wordSet } from './words.ts'

/** Places that are in no zone's name, and countries with a single time. */
const otherPlaces = new Map(
  `utc=UTC gmt=UTC zulu=UTC cet=Europe/Paris est=America/New_York edt=America/New_York pst=America/Los_Angeles pdt=America/Los_Angeles
  jst=Asia/Tokyo ist=Asia/Kolkata bst=Europe/London
  nyc=America/New_York boston=America/New_York washington=America/New_York miami=America/New_York atlanta=America/New_York
  philadelphia=America/New_York houston=America/Chicago dallas=America/Chicago austin=America/Chicago seattle=America/Los_Angeles
  san_francisco=America/Los_Angeles san_diego=America/Los_Angeles las_vegas=America/Los_Angeles california=America/Los_Angeles
  montreal=America/Toronto ottawa=America/Toronto rio_de_janeiro=America/Sao_Paulo
  munich=Europe/Berlin hamburg=Europe/Berlin cologne=Europe/Berlin frankfurt=Europe/Berlin germany=Europe/Berlin france=Europe/Paris
  italy=Europe/Rome milan=Europe/Rome spain=Europe/Madrid barcelona=Europe/Madrid england=Europe/London uk=Europe/London
  scotland=Europe/London edinburgh=Europe/London ireland=Europe/Dublin netherlands=Europe/Amsterdam belgium=Europe/Brussels
  switzerland=Europe/Zurich geneva=Europe/Zurich austria=Europe/Vienna sweden=Europe/Stockholm norway=Europe/Oslo denmark=Europe/Copenhagen
  finland=Europe/Helsinki poland=Europe/Warsaw krakow=Europe/Warsaw greece=Europe/Athens turkey=Europe/Istanbul ukraine=Europe/Kyiv
  japan=Asia/Tokyo osaka=Asia/Tokyo kyoto=Asia/Tokyo china=Asia/Shanghai beijing=Asia/Shanghai shenzhen=Asia/Shanghai
  guangzhou=Asia/Shanghai korea=Asia/Seoul south_korea=Asia/Seoul india=Asia/Kolkata mumbai=Asia/Kolkata delhi=Asia/Kolkata
  new_delhi=Asia/Kolkata bangalore=Asia/Kolkata chennai=Asia/Kolkata thailand=Asia/Bangkok vietnam=Asia/Ho_Chi_Minh
  hanoi=Asia/Ho_Chi_Minh philippines=Asia/Manila taiwan=Asia/Taipei israel=Asia/Jerusalem tel_aviv=Asia/Jerusalem
  abu_dhabi=Asia/Dubai nepal=Asia/Kathmandu kathmandu=Asia/Kathmandu canberra=Australia/Sydney egypt=Africa/Cairo kenya=Africa/Nairobi
  nigeria=Africa/Lagos south_africa=Africa/Johannesburg cape_town=Africa/Johannesburg new_zealand=Pacific/Auckland
  wellington=Pacific/Auckland hawaii=Pacific/Honolulu`
    .split(/\s+/)
    .map((entry): [string, string] => [entry.slice(0, entry.indexOf('=')), entry.slice(entry.indexOf('=') + 1)]),
)

let zonesByCity: Map<string, string> | undefined

/** The IANA zone of `Tokyo`, `new york`, `Europe/Berlin`, `UTC`; undefined for a place that is not known. */
function zoneOf(place: string): string | undefined {
  zonesByCity ??= new Map(
    Intl.supportedValuesOf('timeZone').flatMap((zone) => [
      [keyOf(zone), zone] as const,
      [keyOf(zone.slice(zone.lastIndexOf('/') + 1)), zone] as const,
    ]),
  )
  return otherPlaces.get(keyOf(place)) ?? zonesByCity.get(keyOf(place))
}

function keyOf(place: string): string {
  return place
    .trim()
    .toLowerCase()
    .replace(/[\s_-]+/g, '_')
}

const aspects: [RegExp, ClockAspect][] = [
  [/^(time|clock|hour|o'clock|oclock)$/, 'time'],
  [/^(day|weekday)$/, 'weekday'],
  [/^(date|today|today's)$/, 'date'],
  [/^year$/, 'year'],
  [/^month$/, 'month'],
]
/** The only words such a question has, places aside: with others in it, it is not about the present time. */
const clockWords = wordSet(`
  what which what's whats is it 's the in at on for of now currently current right local tell me us give show get please
  and also do we have today today's week there exact exactly precise know to you can could would like i say a or then
  here this moment present how late zone timezone as well let be than year month hour time date day weekday clock
  o'clock oclock need want calendar check find out about`)

/** Reads a question for the time, the date or the day, in one or several places. */
export function readClockClause(tokens: readonly Token[], follows: boolean): Question[] | undefined {
  const wanted = [
    ...new Set(tokens.flatMap(({ word, text }) => aspects.find(([name]) => name.test(word === "'s" ? text : word))?.[1] ?? [])),
  ]
  if (/\bhow late\b/.test(tokens.map(({ word }) => word).join(' '))) wanted.push('time')
  const isAsked = wanted.length > 0 && !tokens.some(({ word }) => isOneOf('file', word))
  const places = readPlaces(tokens)
  if (places === undefined || (!isAsked && !(follows && places.some(({ zone }) => zone !== undefined)))) return undefined
  const asked: ClockAspect[] =
    wanted.includes('weekday') && !wanted.includes('date') && tokens.some(({ word }) => word === 'day') ? [...wanted, 'date'] : wanted
  if (places.length === 0) return [{ ask: 'clock', aspects: asked }]
  return places.map(({ place, zone }) => ({ ask: 'clock', aspects: asked, place, ...(zone === undefined ? {} : { zone }) }))
}

/** The places named; undefined when there are words that belong to no such question. */
function readPlaces(tokens: readonly Token[]): { place: string; zone?: string }[] | undefined {
  const places: { place: string; zone?: string }[] = []
  for (let at = 0; at < tokens.length; at++) {
    const token = tokens[at]
    if (token === undefined || token.kind === 'comma' || token.kind === 'stop' || token.kind === 'open' || token.kind === 'close') continue
    const known = longestPlace(tokens, at)
    if (known !== undefined) {
      places.push(known)
      at = known.end - 1
      continue
    }
    if (token.kind === 'word' && clockWords.has(token.word)) continue
    // An unknown word is a place when it stands where one would.
    if (token.kind !== 'word' || isGrammarWord(token.word) || !/^(in|at|for|and|or|,)$/.test(tokens[at - 1]?.word ?? '')) return undefined
    places.push({ place: token.text })
  }
  return places
}

function longestPlace(tokens: readonly Token[], at: number): { place: string; zone: string; end: number } | undefined {
  for (let length = 3; length >= 1; length--) {
    const words = tokens.slice(at, at + length)
    if (words.length < length || words.some(({ kind }) => kind !== 'word' && kind !== 'path' && kind !== 'quoted')) continue
    const place = words.map(({ text }) => text).join(' ')
    const zone = length === 1 && clockWords.has(words[0]?.word ?? '') ? undefined : zoneOf(place)
    if (zone !== undefined) return { place, zone, end: at + length }
  }
  return undefined
}
