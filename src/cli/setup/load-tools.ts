import { stat } from 'node:fs/promises'
import { registerHooks } from 'node:module'
import { extname, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { messageOf, show, ToolloopError } from '../../core/errors.ts'
import { type AnyTool, checkTool } from '../../tools/tool.ts'
import { placeOfFailure } from './failure-place.ts'
import { resolveSelfForTools } from './resolve-self.ts'

const extensions = ['.ts', '.mts', '.cts', '.js', '.mjs', '.cjs']

/**
 * Loads the tools of modules, in order. A named export can be a tool or an array of tools; other named exports are ignored. The default
 * export can be a tool, an array, an object of tools, or a ToolRegistry. Rejects with `invalid_option` if a module can't be loaded or has
 * no tools, and with `invalid_tool` for an invalid tool or a duplicate name. The error message names the file.
 */
export async function loadTools(paths: readonly string[], cwd: string): Promise<AnyTool[]> {
  const origins = new Map<string, string>()
  const tools: AnyTool[] = []
  for (const path of paths) {
    for (const tool of await loadModule(path, cwd)) {
      const earlier = origins.get(tool.name)
      if (earlier !== undefined) {
        throw new ToolloopError('invalid_tool', `Expected tool names to be unique, got \`${tool.name}\` in ${earlier} and in ${path}`)
      }
      origins.set(tool.name, path)
      tools.push(tool)
    }
  }
  return tools
}

async function loadModule(path: string, cwd: string): Promise<Set<AnyTool>> {
  const file = resolve(cwd, path)
  const isFile = await stat(file).then(
    (found) => found.isFile(),
    () => false,
  )
  if (!isFile) throw new ToolloopError('invalid_option', `Expected \`--tools\` to name a module, found no file at ${file}`)
  if (!extensions.includes(extname(file))) {
    throw new ToolloopError('invalid_option', `Expected \`--tools\` to name a module ending in ${extensions.join(', ')}, got ${path}`)
  }
  const exports = await importModule(path, file, cwd)
  // A Set, because a tool may be exported both by name and in the default export.
  const tools = new Set<AnyTool>()
  for (const [name, value] of Object.entries(exports)) {
    // For a CommonJS module, the export `module.exports` is the whole module. It is skipped, because its members are exported, too.
    if (name === 'module.exports') continue
    for (const tool of name === 'default' ? toolsOfDefault(value, path) : toolsOfNamed(value)) {
      try {
        checkTool(tool)
      } catch (error) {
        throw new ToolloopError('invalid_tool', `${path}, export \`${name}\`: ${messageOf(error)}`, { cause: error })
      }
      tools.add(tool)
    }
  }
  if (tools.size === 0) throw new ToolloopError('invalid_option', `Expected ${path} to export tools, got ${describeExports(exports)}`)
  return tools
}

async function importModule(path: string, file: string, cwd: string): Promise<Record<string, unknown>> {
  resolveSelfForTools()
  const loaded: string[] = []
  const hooks = registerHooks({
    load(url, context, nextLoad) {
      loaded.push(url)
      return nextLoad(url, context)
    },
  })
  try {
    return await import(pathToFileURL(file).href)
  } catch (error) {
    const place = placeOfFailure(error, loaded, cwd)
    throw new ToolloopError('invalid_option', `${path} can't be loaded: ${messageOf(error)}${hintFor(error)}${place}`, { cause: error })
  } finally {
    hooks.deregister()
  }
}

function hintFor(error: unknown): string {
  const code = typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined
  if (code === 'ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX')
    return ' (Node.js runs TypeScript by removing its types: no enums, namespaces or parameter properties)'
  if (code === 'ERR_MODULE_NOT_FOUND' || code === 'MODULE_NOT_FOUND')
    return ' (imports need their file extension, and packages have to be installed next to the module)'
  return ''
}

function toolsOfNamed(value: unknown): AnyTool[] {
  if (looksLikeTool(value)) return [value]
  return Array.isArray(value) && value.length > 0 && value.every(looksLikeTool) ? value : []
}

function toolsOfDefault(value: unknown, path: string): AnyTool[] {
  if (looksLikeTool(value)) return [value]
  const list: unknown[] | undefined = isRegistry(value) ? value.list() : Array.isArray(value) ? value : undefined
  if (list?.every(looksLikeTool)) return list
  // The default export of a CommonJS module is an object with all its exports, which may include more than tools.
  if (list === undefined && typeof value === 'object' && value !== null) return Object.values(value).flatMap(toolsOfNamed)
  const [stranger] = list?.filter((entry) => !looksLikeTool(entry)) ?? []
  const got = list === undefined ? show(value) : `a list with ${show(stranger)}${lackOf(stranger)}`
  throw new ToolloopError(
    'invalid_option',
    `Expected the default export of ${path} to be a tool, an array of tools or a ToolRegistry, got ${got}`,
  )
}

/** Whether a value is a ToolRegistry. `instanceof` would not recognize a registry from another copy of this package. */
function isRegistry(value: unknown): value is { list(): unknown[] } {
  return typeof value === 'object' && value !== null && 'getAllSpecs' in value && 'list' in value && typeof value.list === 'function'
}

function looksLikeTool(value: unknown): value is AnyTool {
  return typeof value === 'object' && value !== null && 'name' in value && 'description' in value && 'parameters' in value
}

/**
 * Describes the exports of a module. For a CommonJS module, Node.js adds the exports `default` and `module.exports`, which contain the
 * other exports.
 */
function describeExports({ 'module.exports': whole, ...exports }: Record<string, unknown>): string {
  const names = isObject(whole) && Object.keys(whole).length === 0 ? [] : Object.keys(exports)
  if (names.length === 0) return 'no exports'
  const classes = names.filter((name) => isToolClass(exports[name]))
  const hint = classes.length > 0 ? `; export an instance, \`new ${classes[0]}()\`, instead of the class` : ''
  const inDefault = isObject(exports.default) ? Object.entries(exports.default) : []
  const all = new Map<string, unknown>([...Object.entries(exports), ...inDefault])
  return `${[...all].map(([name, value]) => `\`${name}\`${lackOf(value)}`).join(', ')}${hint}`
}

/** Describes the missing fields of a value that is almost a tool. Returns an empty text for any other value. */
function lackOf(value: unknown): string {
  if (!isObject(value)) return ''
  const lacks = ['name', 'description', 'parameters'].filter((field) => !(field in value))
  if (lacks.length > ('execute' in value ? 2 : 1)) return ''
  return `, which lacks ${lacks.map((field) => `a \`${field}\``).join(' and ')}`
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isToolClass(value: unknown): boolean {
  return typeof value === 'function' && typeof value.prototype === 'object' && value.prototype !== null && 'execute' in value.prototype
}
