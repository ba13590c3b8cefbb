import { describe, expect, it } from 'vitest'
import { type CurrentTime, currentTimeTool } from '../../../src/tools/builtin/current-time.ts'
import { callTool, errorOf } from './workbench.ts'

const at = (time: string, timeZone?: string) =>
  callTool<CurrentTime>(currentTimeTool({ now: () => new Date(time) }), timeZone === undefined ? {} : { timeZone })

describe('current_time', () => {
  it.each([
    ['UTC', '2026-02-03T04:05:06+00:00', 'Tuesday', '+00:00'],
    ['Europe/Berlin', '2026-02-03T05:05:06+01:00', 'Tuesday', '+01:00'],
    ['America/New_York', '2026-02-02T23:05:06-05:00', 'Monday', '-05:00'],
    ['Asia/Kathmandu', '2026-02-03T09:50:06+05:45', 'Tuesday', '+05:45'],
  ])('returns the time in %s', async (timeZone, iso, weekday, utcOffset) => {
    const [date, time] = [iso.slice(0, 10), iso.slice(11, 19)]
    expect(await at('2026-02-03T04:05:06.789Z', timeZone)).toEqual({ iso, date, time, weekday, timeZone, utcOffset })
    expect(Date.parse(iso)).toBe(Date.parse('2026-02-03T04:05:06Z'))
  })

  it('applies daylight saving time and writes midnight as 00', async () => {
    expect(await at('2026-06-30T22:00:00Z', 'Europe/Berlin')).toMatchObject({ iso: '2026-07-01T00:00:00+02:00', utcOffset: '+02:00' })
  })

  it('uses the local time zone by default', async () => {
    const { iso, timeZone } = await at('2026-02-03T04:05:06Z')
    expect(timeZone).toBe(Intl.DateTimeFormat().resolvedOptions().timeZone)
    expect(Date.parse(iso)).toBe(Date.parse('2026-02-03T04:05:06Z'))
  })

  it('uses the system’s clock by default', async () => {
    const before = Math.floor(Date.now() / 1000) * 1000
    const { iso } = await callTool<CurrentTime>(currentTimeTool(), {})
    expect(Date.parse(iso)).toBeGreaterThanOrEqual(before)
    expect(Date.parse(iso)).toBeLessThanOrEqual(Date.now())
  })

  it('accepts a time zone in any case', async () => {
    expect(await at('2026-02-03T04:05:06Z', 'europe/berlin')).toMatchObject({ timeZone: 'Europe/Berlin' })
  })

  it.each([
    ['New York', 'Did you mean `America/New_York`?'],
    ['Tokyo, Japan', 'Did you mean `Asia/Tokyo`?'],
    ['Mars/Olympus', 'Expected `timeZone` to be an IANA time zone such as `Europe/Berlin`, got "Mars/Olympus"'],
  ])('refuses %j with a message', async (timeZone, words) => {
    expect((await errorOf(at('2026-02-03T04:05:06Z', timeZone))).message).toContain(words)
  })
})
