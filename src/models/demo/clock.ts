import type { Phrase } from './phrase.ts'
import { type Desk, type Plan, type Reader, type Reading, readerOf, unreadable } from './plans.ts'

/** Places that are in no zone's name, and countries with a single time. */
const otherPlaces = new Map(
  `UTC utc gmt|America/New_York nyc boston washington miami|America/Chicago houston dallas austin|America/Los_Angeles seattle california
  san_francisco|Europe/Berlin germany munich hamburg|Europe/Paris france cet|Europe/London england uk|Europe/Rome italy|Europe/Madrid spain
  barcelona|Europe/Zurich switzerland geneva|Asia/Tokyo japan osaka|Asia/Shanghai china beijing|Asia/Kolkata india mumbai delhi bangalore`
    .split('|')
    .flatMap((entry) => {
      const [zone = '', ...places] = entry.split(/\s+/)
      return places.map((place): [string, string] => [place, zone])
    }),
)

let zones: Map<string, string> | undefined

/** The IANA zone of `Tokyo`, `new york`, `Europe/Berlin`, `UTC`. */
function zoneOf(place: string): string | undefined {
  const key = (name: string) => name.toLowerCase().replace(/[\s_-]+/g, '_')
  zones ??= new Map(
    Intl.supportedValuesOf('timeZone').flatMap((zone) => [zone, zone.slice(zone.lastIndexOf('/') + 1)].map((name) => [key(name), zone])),
  )
  return otherPlaces.get(key(place)) ?? zones.get(key(place))
}

interface Place {
  name: string
  zone: string
}

/** `Tokyo`, `in London and New York`; undefined when one of them is unknown. */
function readPlaces(phrase: Phrase): Place[] | undefined {
  const names = phrase.raw.split(/ (?:and|or|,) /).map((name) => name.replace(/^in /, ''))
  const places = names.map((name) => ({ name: name.length > 3 ? name.replace(/(?<=^|\s)[a-z]/g, upper) : name, zone: zoneOf(name) ?? '' }))
  return places.every(({ zone }) => zone !== '') ? places : undefined
}

const upper = (letter: string) => letter.toUpperCase()

function askClock(desk: Desk, timeZone?: string): { date: string; time: string; zone: string } {
  const { date, time, timeZone: zone, utcOffset } = desk.object('current_time', timeZone === undefined ? {} : { timeZone })
  const isDate = typeof date === 'string' && /^\d{4}-\d\d-\d\d$/.test(date) && !Number.isNaN(Date.parse(date))
  if (!isDate || typeof time !== 'string') throw unreadable('current_time')
  return { date, time: time.slice(0, 5), zone: `${String(zone)}, UTC${String(utcOffset)}` }
}

function inWords(date: string, options: Intl.DateTimeFormatOptions): string {
  return new Date(date).toLocaleDateString('en-US', { ...options, timeZone: 'UTC' })
}

function sayNow(aspect: string, { date, time, zone }: ReturnType<typeof askClock>): string {
  if (/zone/.test(aspect)) return `the time zone is ${zone}`
  if (/time|hour|late/.test(aspect)) return `it is ${time} (${zone})`
  if (/year/.test(aspect)) return `it is ${date.slice(0, 4)}`
  if (/month/.test(aspect)) return `it is ${inWords(date, { month: 'long', year: 'numeric' })}`
  return `it is ${inWords(date, { weekday: 'long' })}, ${date}`
}

function now(aspect: string, places: readonly Place[] | undefined): Reading | undefined {
  if (places === undefined) return undefined
  const plan: Plan = (desk) => {
    if (places.length === 0) return { text: `${sayNow(aspect, askClock(desk)).replace(/^[a-z]/, upper)}.` }
    return { text: places.map(({ name, zone }) => `In ${name} ${sayNow(aspect, askClock(desk, zone))}.`).join(' ') }
  }
  return { plan, again: (phrase) => now(aspect, readPlaces(phrase)) }
}

const lead = '(?:(?:what|which|what is|show|give|current|local|my|today) )*'
const tail = '(?: (?:is it|it is|is today|today is|is|today|of week|do we have|are we in|am i in|is this|right))*'

/** Questions for the time, the date, the weekday, here or in other places. */
export const readClock: Reader = readerOf([
  `${lead}(?<aspect>time zone|timezone|time|hour|day|weekday|date|today|year|month)${tail}(?: (?:in|at|for) PLACE)?
    how (?<aspect>late) is it(?: in PLACE)?`,
  ({ aspect, place }) => now(aspect?.text ?? '', place === undefined ? [] : readPlaces(place)),
])
