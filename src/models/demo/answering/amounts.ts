/** A number as it is shown in an answer: up to six digits behind the point. */
export function showNumber(value: number): string {
  if (!Number.isFinite(value)) return String(value)
  if (Number.isInteger(value) && Math.abs(value) < 1e21) return value.toString()
  const rounded = Number(value.toFixed(6))
  return rounded === 0 ? value.toPrecision(6) : String(rounded)
}

const units = ['bytes', 'KB', 'MB', 'GB', 'TB']

/** `812 bytes`, `12345 bytes (12.1 KB)`; 1 KB is 1024 bytes. */
export function showBytes(bytes: number): string {
  const exact = bytes === 1 ? '1 byte' : `${showNumber(bytes)} bytes`
  let value = bytes
  let unit = 0
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024
    unit++
  }
  return unit === 0 ? exact : `${exact} (${value.toFixed(1)} ${units[unit] ?? ''})`
}

/** `1 file`, `2 files`, `no files`. */
export function amount(count: number, one: string, many: string = `${one}s`): string {
  return `${count === 0 ? 'no' : showNumber(count)} ${count === 1 ? one : many}`
}
