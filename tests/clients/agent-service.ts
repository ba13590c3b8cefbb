import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { type ChatMessage, defineTool, textOf } from '../../src/index.ts'
import { createService, listen } from '../../src/service/index.ts'
import { scriptedModel } from '../../src/testing/index.ts'
import { recordingLogger } from '../hazards/recording-logger.ts'

export const token = 'test-token-operator'

const folder = fileURLToPath(new URL('../../.ci/clients/', import.meta.url))
const require = createRequire(join(folder, 'package.json'))
const { optionalDependencies: versions }: { optionalDependencies: Record<string, string> } = require('./package.json')

/** Whether a package is installed in `.ci/clients`. */
export const isThere = (name: string): boolean => existsSync(join(folder, 'node_modules', name, 'package.json'))

/** The name and version of a package, for the name of a test. */
export const versionOf = (name: string): string =>
  `${name} ${versions[name]}${isThere(name) ? '' : ' (SKIPPED: not installed in .ci/clients)'}`

/** A program of a package in `.ci/clients`. */
export const program = (name: string): string => join(folder, 'node_modules', '.bin', name)

/** A package in `.ci/clients`, as a program there imports it. */
export async function load(name: string) {
  const { load: loadThere } = await import(pathToFileURL(join(folder, 'load.js')).href)
  return loadThere(name)
}

/** What a client is asked, and what the agent answers. */
export const questions = {
  GREET: /Hello from toolloop\./,
  /** By a tool of the client's own, which prints this. */
  'OWN-TOOL': /The tool said: [\s\S]*own-42/,
  /** By the agent's tool. */
  WEATHER: /The tool said: [\s\S]*21 °C/,
  /** In the conversation of the question before. */
  AGAIN: /Questions so far: 2\./,
}
const keywords = new RegExp(Object.keys(questions).join('|'))

const print = { command: "printf 'own-%d' 42", description: 'Prints' }
/** The tools of clients that the agent may call, by their names there. */
const ownTools: Record<string, { [name: string]: string | number | boolean }> = {
  exec_command: { cmd: print.command },
  bash: print,
  run_shell_command: { ...print, is_background: false },
  own: { prefix: 'own-' },
}

/** A service whose model answers by a script, with one tool of its own. */
export async function startAgent() {
  const weather = defineTool({
    name: 'weather',
    description: 'The weather in a city.',
    parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
    execute: () => '21 °C',
  })
  const model = scriptedModel(({ messages, tools = [] }) => {
    const asked = messages
      .filter(({ role }) => role === 'user')
      .map(wordsOf)
      .filter((words) => keywords.test(words))
    const question = keywords.exec(
      asked
        .at(-1)
        ?.split('\n')
        .findLast((line) => keywords.test(line)) ?? '',
    )?.[0]
    const last = messages.at(-1)
    if (last?.role === 'tool') return `The tool said: ${wordsOf(last)}`
    if (question === 'WEATHER') return { toolCalls: [{ name: 'weather', args: { city: 'Oslo' } }] }
    if (question === 'AGAIN') return `Questions so far: ${asked.length}.`
    if (question !== 'OWN-TOOL') return 'Hello from toolloop.'
    const names = tools.map(({ function: { name } }) => name)
    const name = names.find((each) => Object.hasOwn(ownTools, each))
    return name === undefined ? `None of your tools is known: ${names.join()}` : { toolCalls: [{ name, args: ownTools[name] ?? {} }] }
  })
  const service = createService({ model, tools: [weather], token, env: {}, mcp: true, logger: recordingLogger().logger })
  const listening = await listen(service, { port: 0 })
  return { url: listening.url, [Symbol.asyncDispose]: () => listening.close(0) }
}

function wordsOf({ content }: ChatMessage): string {
  return textOf(content)
}
