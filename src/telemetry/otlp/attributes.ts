import type { Attributes, AttributeValue, TimeInput } from '../api.ts'
import type { OtlpMessage } from './encode.ts'

/** Attributes as OTLP has them. What is no value of an attribute is left out. */
export function keyValues(attributes: Attributes): OtlpMessage[] {
  return Object.entries(attributes).flatMap(([key, value]) => {
    const shown = anyValueOf(value)
    return shown === undefined ? [] : [{ key, value: shown }]
  })
}

function anyValueOf(value: AttributeValue | null | undefined): OtlpMessage | undefined {
  if (typeof value === 'string') return { stringValue: value }
  if (typeof value === 'boolean') return { boolValue: value }
  if (typeof value === 'number') return Number.isSafeInteger(value) ? { intValue: String(value) } : { doubleValue: value }
  if (!Array.isArray(value)) return undefined
  return { arrayValue: { values: value.flatMap((item) => anyValueOf(item) ?? []) } }
}

/** How many characters attributes take up, roughly. */
export function sizeOf(attributes: Attributes): number {
  let size = 0
  for (const [key, value] of Object.entries(attributes)) {
    size += key.length + 16
    if (typeof value === 'string') size += value.length
    else if (Array.isArray(value)) for (const item of value) size += typeof item === 'string' ? item.length : 8
  }
  return size
}

/** Nanoseconds since 1970, in decimal. */
export function nanosecondsOf(time: TimeInput | undefined): string {
  if (Array.isArray(time)) return String(BigInt(time[0]) * 1_000_000_000n + BigInt(time[1]))
  const milliseconds = time === undefined ? performance.timeOrigin + performance.now() : millisecondsOf(time)
  const whole = Math.floor(milliseconds)
  return String(BigInt(whole) * 1_000_000n + BigInt(Math.floor((milliseconds - whole) * 1_000_000)))
}

function millisecondsOf(time: Exclude<TimeInput, readonly unknown[]>): number {
  if (time instanceof Date) return time.getTime()
  // What performance.now() gives counts from the start of the process.
  return (time as number) < performance.timeOrigin ? performance.timeOrigin + (time as number) : (time as number)
}
