import { Pauses } from '../../tools/yield-to-event-loop.ts'

/** Characters of JSON that are written in one go, roughly. */
const inOneGo = 100_000

/** What `JSON.stringify` makes of plain data, so that others get their turn in between. Lists and objects are taken apart as far as `levels` say. */
export async function jsonInTurn(value: object, pauses: Pauses = new Pauses(), levels = 3): Promise<string> {
  const write = (item: unknown, level: number): Promise<string> | string | undefined =>
    typeof item === 'object' && item !== null && level > 0 && !('toJSON' in item) ? writeParts(item, level) : JSON.stringify(item)
  const writeParts = async (item: object, level: number): Promise<string> => {
    const isList = Array.isArray(item)
    let text = ''
    let fresh = 0
    for (const [key, field] of Object.entries(item)) {
      const json = (await write(field, level - 1)) ?? (isList ? 'null' : undefined)
      if (json === undefined) continue
      text += `${text === '' ? '' : ','}${isList ? '' : `${JSON.stringify(key)}:`}${json}`
      fresh += json.length
      if (fresh < inOneGo) continue
      fresh = 0
      await pauses.take()
    }
    return isList ? `[${text}]` : `{${text}}`
  }
  return (await write(value, levels)) ?? ''
}
