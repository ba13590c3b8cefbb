import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { messageOf, show, ToolloopError } from '../errors.ts'
import { isJsonObject } from '../messages.ts'
import type { ModelSettings } from '../models/settings.ts'

const places = ['toolloop.yaml', join('config', 'toolloop.yaml')]

/** The model a configuration file names, and which file it was. */
interface ConfiguredModel {
  model: string | ModelSettings
  file: string
}

/**
 * `model` of the first of `toolloop.yaml` and `config/toolloop.yaml` there is in `folder`; undefined without a file, or without the key.
 * Rejects with `invalid_option` for a file that can't be read as YAML or has a `model` of another shape.
 */
export async function readConfiguredModel(folder: string): Promise<ConfiguredModel | undefined> {
  for (const file of places) {
    const text = await readFile(join(folder, file), 'utf8').catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return undefined
      throw new ToolloopError('invalid_option', `${file} can't be read: ${error.message}`, { cause: error })
    })
    if (text === undefined) continue
    const model = await modelOf(text, file)
    return model === undefined ? undefined : { model, file }
  }
  return undefined
}

async function modelOf(text: string, file: string): Promise<string | ModelSettings | undefined> {
  const { parse } = await import('yaml')
  let content: unknown
  try {
    content = parse(text)
  } catch (error) {
    throw new ToolloopError('invalid_option', `${file} is not valid YAML: ${messageOf(error)}`, { cause: error })
  }
  // A file of comments only is an empty document.
  if (content === null || content === undefined) return undefined
  if (!isJsonObject(content)) throw new ToolloopError('invalid_option', `Expected ${file} to hold a mapping, got ${show(content)}`)
  const { model } = content
  if (model === undefined || model === null) return undefined
  if (typeof model === 'string' && model !== '') return model
  if (isJsonObject(model) && typeof model.provider === 'string' && typeof model.model === 'string') {
    return { ...model, provider: model.provider, model: model.model }
  }
  // Not shown: settings may hold a key.
  const got = isJsonObject(model)
    ? `a mapping with ${
        Object.keys(model)
          .map((key) => `\`${key}\``)
          .join(', ') || 'no keys'
      }`
    : show(model)
  throw new ToolloopError(
    'invalid_option',
    `Expected \`model\` in ${file} to be \`provider/model\` or a mapping with \`provider\` and \`model\`, got ${got}`,
  )
}
