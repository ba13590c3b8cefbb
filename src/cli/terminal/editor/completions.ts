import { type Dirent, readdirSync } from 'node:fs'
import { resolve } from 'node:path'

/** Completions at the cursor. Each word replaces the text from the position `from` to the cursor. */
interface Completions {
  from: number
  words: string[]
}

/** Returns the completions of `text`, which is the text before the cursor. */
export type Complete = (text: string) => Completions

const mostEntries = 10_000

/** Returns a function that completes slash commands at the start of the text, and paths after an `@`, relative to `folder`. */
export function completeIn(folder: string, commands: readonly string[]): Complete {
  return (text) => {
    if (/^\/\S*$/.test(text)) return { from: 0, words: commands.filter((one) => one.startsWith(text)) }
    const [, path] = /(?:^|\s)@([^\s"]*)$/.exec(text) ?? /(?:^|\s)@"([^"\n]*)$/.exec(text) ?? []
    if (path === undefined) return { from: text.length, words: [] }
    const slash = path.lastIndexOf('/') + 1
    const quote = text.endsWith(`"${path}`) ? 1 : 0
    const named = entriesOf(resolve(folder, path.slice(0, slash))).filter(
      // Hidden files are listed only if the typed name starts with a dot.
      ({ name }) => name.startsWith(path.slice(slash)) && (path[slash] === '.' || !name.startsWith('.')),
    )
    const words = named.map((entry) => pathWord(`${path.slice(0, slash)}${entry.name}`, entry.isDirectory()))
    return { from: text.length - path.length - quote - 1, words: words.sort() }
  }
}

/** Writes a path as a reference for prompts, with quotes if it contains spaces. */
function pathWord(path: string, isFolder: boolean): string {
  if (!/\s/.test(path)) return `@${path}${isFolder ? '/' : ''}`
  return `@"${path}${isFolder ? '/' : '"'}`
}

function entriesOf(folder: string): Dirent[] {
  try {
    // Leaves out names with control characters or quotes, because such names can't be typed.
    return readdirSync(folder, { withFileTypes: true })
      .slice(0, mostEntries)
      .filter(({ name }) => !/[\p{Cc}"]/u.test(name))
  } catch {
    return []
  }
}

export function commonBeginning(words: readonly string[]): string {
  const [first = ''] = words
  let length = first.length
  for (const word of words) while (!word.startsWith(first.slice(0, length))) length--
  return first.slice(0, length)
}
