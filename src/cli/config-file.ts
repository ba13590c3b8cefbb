import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Backend, backends } from '../backends/index.ts'
import { messageOf, show, ToolloopError } from '../errors.ts'
import { isJsonObject, type JsonObject } from '../messages.ts'
import type { Providers } from '../models/providers.ts'
import type { ModelSettings } from '../models/settings.ts'

const places = ['toolloop.yaml', join('config', 'toolloop.yaml')]

/** What a configuration file says, and which file it was. */
export interface Config {
  model?: string | ModelSettings
  /** Checked where they are used. */
  providers?: Providers
  /** Which loop drives the runs. */
  backend?: Backend
  file: string
}

/**
 * The first of `toolloop.yaml` and `config/toolloop.yaml` there is in `folder`; undefined without one. Rejects with `invalid_option` for a
 * file that can't be read as YAML, or has a `model`, `providers` or `backend` that is none.
 */
export async function readConfig(folder: string): Promise<Config | undefined> {
  for (const file of places) {
    const text = await readFile(join(folder, file), 'utf8').catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return undefined
      throw new ToolloopError('invalid_option', `${file} can't be read: ${error.message}`, { cause: error })
    })
    if (text === undefined) continue
    return { ...(await contentOf(text, file)), file }
  }
  return undefined
}

async function contentOf(text: string, file: string): Promise<Omit<Config, 'file'>> {
  const { parse } = await import('yaml')
  let content: unknown
  try {
    content = parse(text)
  } catch (error) {
    throw new ToolloopError('invalid_option', `${file} is not valid YAML: ${messageOf(error)}`, { cause: error })
  }
  // A file of comments only is an empty document.
  if (content === null || content === undefined) return {}
  if (!isJsonObject(content)) throw new ToolloopError('invalid_option', `Expected ${file} to hold a mapping, got ${show(content)}`)
  const model = modelOf(content, file)
  const providers = providersOf(content, file)
  const backend = backendOf(content, file)
  return {
    ...(model === undefined ? {} : { model }),
    ...(providers === undefined ? {} : { providers }),
    ...(backend === undefined ? {} : { backend }),
  }
}

function providersOf({ providers }: JsonObject, file: string): Providers | undefined {
  if (providers === undefined || providers === null) return undefined
  if (!isJsonObject(providers)) {
    throw new ToolloopError(
      'invalid_option',
      `Expected \`providers\` in ${file} to be a mapping of providers by name, got ${show(providers)}`,
    )
  }
  return providers as Providers
}

function backendOf({ backend }: JsonObject, file: string): Backend | undefined {
  if (backend === undefined || backend === null) return undefined
  const known = backends.find((name) => name === backend)
  if (known !== undefined) return known
  throw new ToolloopError('invalid_option', `Expected \`backend\` in ${file} to be ${backends.join(' or ')}, got ${show(backend)}`)
}

function modelOf({ model }: JsonObject, file: string): string | ModelSettings | undefined {
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
