import { createHash } from 'node:crypto'
import { toolName } from './tool.ts'

const maxCharacters = 64

/**
 * Legal, unique tool names for names from elsewhere, in the same order. A legal name is kept; in others illegal characters become `_`, and a
 * name that is then too long or taken ends in a digest of the whole, so that it is the same every time.
 */
export function legalToolNames(wanted: readonly string[]): string[] {
  const taken = new Set<string>()
  const names: (string | undefined)[] = wanted.map((name) => (toolName.test(name) && claim(taken, name) ? name : undefined))
  return wanted.map((name, index) => {
    const own = names[index]
    if (own !== undefined) return own
    const legal = name.replace(/[^a-zA-Z0-9_-]+/g, '_')
    if (legal !== name && toolName.test(legal) && claim(taken, legal)) return legal
    for (let turn = 0; ; turn++) {
      const digest = createHash('sha256').update(`${turn}:${name}`).digest('hex').slice(0, 8)
      const hashed = `${legal.slice(0, maxCharacters - digest.length - 1)}_${digest}`
      if (claim(taken, hashed)) return hashed
    }
  })
}

function claim(taken: Set<string>, name: string): boolean {
  if (taken.has(name)) return false
  taken.add(name)
  return true
}
