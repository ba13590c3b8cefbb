import { messageOf, show } from '../../core/errors.ts'
import { isJsonObject, withoutUndefined } from '../../core/messages.ts'
import { readDocument } from '../read-document.ts'
import { readLoosely } from './loose-frontmatter.ts'
import type { Report, Skill } from './skill.ts'

/** The content of a `SKILL.md`. */
export type SkillText = Pick<Skill, 'name' | 'description' | 'license' | 'compatibility' | 'metadata' | 'allowedTools' | 'body'>

/** Maximum length of a frontmatter. Limited because parsing YAML can take quadratic time, and the Skill is not trusted yet. */
const maxCharacters = 16_384

const skeleton = '---\nname: my-skill\ndescription: What it does, and when to use it.\n---'

/**
 * Reads a `SKILL.md`. Accepts deviations with a clear meaning, because the files are written for many applications. For other deviations,
 * reports an error and returns undefined. `folderName`: the name that the Skill should have.
 */
export async function readSkillText(source: string, folderName: string, report: Report): Promise<SkillText | undefined> {
  const [whole, frontmatter] = /^\s*---[ \t]*\r?\n([\s\S]*?)(?:^|\r?\n)---[ \t]*(?:\r?\n|$)/.exec(source.replace(/^\uFEFF/, '')) ?? []
  if (whole === undefined || frontmatter === undefined) {
    report('error', `Expected the file to begin with a frontmatter between lines of \`---\`, such as:\n${skeleton}`)
    return undefined
  }
  if (frontmatter.length > maxCharacters) {
    report('error', `Expected the frontmatter to have at most ${maxCharacters} characters, got ${frontmatter.length}`)
    return undefined
  }
  const fields = await readYaml(frontmatter, report)
  if (fields === undefined) return undefined
  const description = textOf(fields.description)
  if (description === undefined || description === '') {
    report('error', `Expected a \`description\` that says what the Skill does and when to use it, got the keys ${keysOf(fields)}`)
    return undefined
  }
  if (description.length > 1_024)
    report('warning', `Expected \`description\` to have at most 1024 characters, got ${description.length}; shorten it`)
  const name = nameOf(fields.name, folderName, report)
  if (name === undefined) return undefined
  const license = textOf(fields.license)
  const compatibility = textOf(fields.compatibility)
  if (compatibility !== undefined && compatibility.length > 500)
    report('warning', `Expected \`compatibility\` to have at most 500 characters, got ${compatibility.length}; shorten it`)
  return {
    name,
    description,
    ...withoutUndefined({ license, compatibility }),
    metadata: metadataOf(fields.metadata, report),
    allowedTools: toolNames(fields['allowed-tools'], report),
    body: source
      .replace(/^\uFEFF/, '')
      .slice(whole.length)
      .trim(),
  }
}

/**
 * Parses a frontmatter as YAML. If it is not valid YAML, reads it field by field. Invalid YAML is common, for example a text that contains
 * a colon or starts with a bracket.
 */
async function readYaml(text: string, report: Report): Promise<Record<string, unknown> | undefined> {
  const read = async (source: string): Promise<unknown> => (await readDocument(source, { passOverWarnings: true })).toJS()
  const quotes = 'Put quotes around texts that have `: ` in them or begin with a character such as `[`, `*` or `"`'
  let fields: unknown
  try {
    fields = await read(text)
  } catch (error) {
    const loose = await readLoosely(text, read)
    if (!textOf(loose.description)) {
      report('error', `The frontmatter is not valid YAML: ${messageOf(error).split('\n')[0]}`)
      return undefined
    }
    report('warning', `The frontmatter is not valid YAML; it was read field by field. ${quotes}`)
    return loose
  }
  if (!isJsonObject(fields)) {
    report('error', `Expected the frontmatter to hold \`name\` and \`description\`, got ${show(fields)}`)
    return undefined
  }
  if (typeof fields.description !== 'object' || fields.description === null) return fields
  report('warning', `Expected \`description\` to be a text, got ${show(fields.description)}; it was read as written. ${quotes}`)
  return { ...fields, description: (await readLoosely(text, read)).description }
}

/** Matches a name that can be used although it breaks the rules of Agent Skills. */
const usableName = /^[\p{L}\p{N} ._-]{1,128}$/u

function nameOf(given: unknown, folderName: string, report: Report): string | undefined {
  const name = textOf(given)?.normalize('NFC')
  const rule = 'at most 64 lower-case letters, digits and single hyphens, not at its ends'
  if (name === undefined || name === '') {
    if (!usableName.test(folderName)) {
      report('error', `Expected a \`name\` with ${rule}, got none; the folder's, ${show(folderName)}, can't be used`)
      return undefined
    }
    report('warning', `Expected a \`name\`; the folder's is used. Add \`name: ${folderName}\``)
    return folderName
  }
  if (name.length > 64 || !/^[\p{Ll}\p{Lo}\p{N}]+(-[\p{Ll}\p{Lo}\p{N}]+)*$/u.test(name)) {
    if (!usableName.test(name)) {
      report('error', `Expected \`name\` to have ${rule}, got ${show(given)}`)
      return undefined
    }
    report('warning', `Expected \`name\` to have ${rule}, got ${show(given)}`)
  } else if (folderName.normalize('NFC') !== name) {
    report('warning', `Expected \`name\` to be that of the folder, ${show(folderName)}, got ${show(name)}; rename one of them`)
  }
  return name
}

function metadataOf(given: unknown, report: Report): Record<string, string> {
  if (given === undefined || given === null) return {}
  if (!isJsonObject(given)) {
    report('warning', `Expected \`metadata\` to be a mapping of texts, got ${show(given)}; it was left out`)
    return {}
  }
  const texts = Object.entries(given).flatMap(([key, value]): [string, string][] => {
    const text = textOf(value)
    if (text === undefined) report('warning', `Expected \`metadata.${key}\` to be a text, got ${show(value)}; it was left out`)
    return text === undefined ? [] : [[key, text]]
  })
  return Object.fromEntries(texts)
}

/** Reads a list of tools, or a text with names separated by spaces or commas. */
function toolNames(given: unknown, report: Report): string[] {
  if (given === undefined || given === null) return []
  if (typeof given === 'string') return given.match(/[^\s,(]+(?:\([^)]*\))?/g) ?? []
  if (Array.isArray(given)) return given.flatMap((entry) => textOf(entry) ?? [])
  report('warning', `Expected \`allowed-tools\` to be a text or a list, got ${show(given)}; it was left out`)
  return []
}

/** Returns a value as text. YAML reads `1.0` as a number and `true` as a boolean, even if the author meant a text. */
function textOf(value: unknown): string | undefined {
  if (typeof value === 'string') return value.trim()
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : undefined
}

function keysOf(fields: object): string {
  return (
    Object.keys(fields)
      .slice(0, 20)
      .map((key) => `\`${key}\``)
      .join(', ') || 'none'
  )
}
