import { isJsonObject, withoutUndefined } from '../../core/messages.ts'
import type { Question, Words } from './reading.ts'

/** Finds the IANA time zone of `Tokyo`, `Europe/Berlin` or `UTC`. In a question, Easter and Christmas are days, not islands. */
function zoneOf(place: string): string | undefined {
  const name = /^(?:easter|christmas)$/i.test(place) ? undefined : place.toLowerCase().replace(/[\s-]+/g, '_')
  const isIt = (zone: string) => [zone, zone.replace(/^\w+\//, '')].some((each) => each.toLowerCase() === name)
  return [...Intl.supportedValuesOf('timeZone'), 'UTC'].find(isIt)
}

const glue = "what which is the show give me it current local today today's this now of week".split(' ')

/** Reads questions about the time, the date and the weekday, with or without a place. */
export function readClock(words: Words): Question | undefined {
  const [preposition, place] = words.take(/ (in|at|for) (\p{L}[\p{L}_+/ -]*) $/u) ?? []
  const aspect = words.take(/ (time zone|timezone|time|hour|day|weekday|date|today|year|month) /i)?.[0]?.toLowerCase()
  if (aspect === undefined || words.left(glue).length > 0) return undefined
  const timeZone = place === undefined ? undefined : zoneOf(place)
  if (place !== undefined && (timeZone === undefined || (preposition !== 'in' && !aspect.startsWith('time')))) return undefined
  const lead = place === undefined ? '' : `In ${place.replace(/(?<=^|\s)[a-z]/g, (letter) => letter.toUpperCase())} `
  return { tool: 'current_time', args: withoutUndefined({ timeZone }), tell: (now) => sayNow(aspect, now, lead) }
}

function sayNow(aspect: string, now: Parameters<Question['tell']>[0], lead: string): string | undefined {
  const { date, time, timeZone, utcOffset } = isJsonObject(now) ? now : {}
  if (typeof date !== 'string' || typeof time !== 'string' || Number.isNaN(Date.parse(date))) return undefined
  const inWords = (options: Intl.DateTimeFormatOptions) => new Date(date).toLocaleDateString('en-US', { ...options, timeZone: 'UTC' })
  const zone = `${String(timeZone)}, UTC${String(utcOffset)}`
  let said = `it is ${inWords({ weekday: 'long' })}, ${date}`
  if (/zone/.test(aspect)) said = `the time zone is ${zone}`
  else if (/time|hour/.test(aspect)) said = `it is ${time.slice(0, 5)} (${zone})`
  else if (/year|month/.test(aspect)) said = `it is ${inWords({ month: 'long', year: 'numeric' })}`
  return `${lead === '' ? said.replace(/^[a-z]/, (letter) => letter.toUpperCase()) : lead + said}.`
}
