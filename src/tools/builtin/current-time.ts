import { syncAnswer } from '../../core/callbacks/callbacks.ts'
import { checkOptionNames, type OptionNames } from '../../core/check-options.ts'
import { show, ToolloopError } from '../../core/errors.ts'
import { type AnyTool, defineTool } from '../tool.ts'

/** Options of `current_time`. */
export interface CurrentTimeOptions {
  /**
   * Returns the current time. Default: the system's clock.
   *
   * Contract: the function is not awaited. If it throws, the call fails.
   */
  now?: () => Date
}

const optionNames: OptionNames<CurrentTimeOptions> = { now: true }

/** The result of `current_time`. */
export interface CurrentTime {
  /** The date and time in ISO 8601, with the offset of the zone: `2026-02-03T04:05:06+01:00`. */
  iso: string
  /** The date: `2026-02-03`. */
  date: string
  /** The time: `04:05:06`. */
  time: string
  /** The name of the day in English. */
  weekday: string
  /** The IANA name of the zone. */
  timeZone: string
  /** The offset from UTC: `+01:00`. */
  utcOffset: string
}

const parameters = {
  type: 'object',
  properties: {
    timeZone: {
      type: 'string',
      minLength: 1,
      maxLength: 64,
      description: 'IANA time zone such as "Europe/Berlin" or "UTC". Default: the zone of this computer.',
    },
  },
  additionalProperties: false,
} as const

/** Creates the tool `current_time`: date, time and weekday in the local or another time zone. */
export function currentTimeTool(options: CurrentTimeOptions = {}): AnyTool {
  checkOptionNames(options, optionNames, '`currentTimeTool`')
  const { now = () => new Date() } = options
  return defineTool({
    name: 'current_time',
    description: 'Tells the current date, time and weekday, in a time zone if one is given.',
    parameters,
    effect: 'read',
    execute: ({ timeZone }: { timeZone?: string }): CurrentTime => {
      const format = formatFor(timeZone)
      const parts = new Map(format.formatToParts(syncAnswer('now', now())).map(({ type, value }) => [type, value]))
      const part = (type: Intl.DateTimeFormatPartTypes) => parts.get(type) ?? ''
      const date = `${part('year').padStart(4, '0')}-${part('month')}-${part('day')}`
      const time = `${part('hour')}:${part('minute')}:${part('second')}`
      // `GMT` without a number means no offset.
      const utcOffset = part('timeZoneName').slice('GMT'.length) || '+00:00'
      return {
        iso: `${date}T${time}${utcOffset}`,
        date,
        time,
        weekday: part('weekday'),
        timeZone: nameOf(format, timeZone),
        utcOffset,
      }
    },
  })
}

/**
 * Returns the name of the requested zone, in its usual spelling. Keeps the requested name if the system reports another name for the zone,
 * because the system's name may be outdated.
 */
function nameOf(format: Intl.DateTimeFormat, asked: string | undefined): string {
  const known = format.resolvedOptions().timeZone
  return asked === undefined || asked.toLowerCase() === known.toLowerCase() ? known : asked
}

function formatFor(timeZone: string | undefined): Intl.DateTimeFormat {
  try {
    return new Intl.DateTimeFormat('en-US-u-ca-gregory-nu-latn', {
      timeZone,
      year: 'numeric',
      month: '2-digit',
      day: '2-digit',
      weekday: 'long',
      hour: '2-digit',
      minute: '2-digit',
      second: '2-digit',
      hourCycle: 'h23',
      timeZoneName: 'longOffset',
    })
  } catch {
    const nearest = zonesLike(timeZone ?? '')
    const hint = nearest.length === 0 ? '' : `. Did you mean ${nearest.map((zone) => `\`${zone}\``).join(' or ')}?`
    throw new ToolloopError(
      'invalid_arguments',
      `Expected \`timeZone\` to be an IANA time zone such as \`Europe/Berlin\`, got ${show(timeZone)}${hint}`,
    )
  }
}

/** Returns the zones whose city occurs in `wanted`. Models often give a city, such as `New York` or `Tokyo, Japan`. */
function zonesLike(wanted: string): string[] {
  const words = (text: string) =>
    text
      .toLowerCase()
      .replaceAll(/[^a-z]+/g, ' ')
      .trim()
  const given = ` ${words(wanted)} `
  return Intl.supportedValuesOf('timeZone')
    .filter((zone) => given.includes(` ${words(zone.slice(zone.lastIndexOf('/') + 1))} `))
    .slice(0, 3)
}
