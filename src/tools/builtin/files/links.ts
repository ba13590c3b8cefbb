import { readlinkSync } from 'node:fs'
import { join, relative, resolve, sep } from 'node:path'
import { isWithin } from './private-files.ts'

const maxLinks = 40
/** Maximum length of a path, in characters. No system opens a longer path. */
const maxCharacters = 4_096

/**
 * Whether a path in `folder` leads out of the folder through a link. Reads nothing outside the folder, because the result must not depend
 * on the files there. `folder` must be a real path, and `path` must be absolute.
 */
export function leadsOutside(folder: string, path: string): boolean {
  if (path.length > maxCharacters) return false
  let [at, left] = [folder, parts(folder, path)]
  for (let links = 0; links <= maxLinks; ) {
    const [next, ...rest] = left
    if (next === undefined) return false
    const target = linkTarget(join(at, next))
    if (target === undefined) {
      at = join(at, next)
      left = rest
      continue
    }
    links++
    const led = resolve(at, target)
    if (!isWithin(folder, led)) return true
    at = folder
    left = [...parts(folder, led), ...rest]
  }
  return false
}

/** Returns the target of a link. Undefined if the path is not a link or does not exist. */
function linkTarget(path: string): string | undefined {
  try {
    return readlinkSync(path)
  } catch {
    return undefined
  }
}

function parts(folder: string, path: string): string[] {
  return relative(folder, path)
    .split(sep)
    .filter((part) => part !== '')
}
