import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'

const recipes = fileURLToPath(new URL('examples/recipes', import.meta.url))

/** Speaks all APIs at this address, like a mock provider. */
interface Provider {
  baseURL: string
  url?: string
}

/** Starts a recipe's program with the provider's models. It is ended with the test. */
function startRecipe(name: string, { baseURL, url = baseURL }: Provider, args: readonly string[], env: Readonly<Record<string, string>>) {
  const program = spawn(process.execPath, [join(recipes, name), ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      PATH: process.env.PATH,
      NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE,
      PORT: '0',
      OPENAI_BASE_URL: baseURL,
      ANTHROPIC_BASE_URL: url,
      GOOGLE_GEMINI_BASE_URL: url,
      OPENAI_API_KEY: 'key',
      ANTHROPIC_API_KEY: 'key',
      GOOGLE_API_KEY: 'key',
      ...env,
    },
  })
  const ended = new Promise<number | null>((resolve) => program.once('close', resolve))
  onTestFinished(async () => {
    program.kill()
    await ended
  })
  return { program, ended }
}

/** What a recipe prints, and its exit code. */
export async function runRecipe(
  name: string,
  provider: Provider,
  { args = [], env = {} }: { args?: readonly string[]; env?: Readonly<Record<string, string>> } = {},
): Promise<{ stdout: string; stderr: string; code: number | null }> {
  const { program, ended } = startRecipe(name, provider, args, env)
  const [stdout, stderr, code] = await Promise.all([text(program.stdout), text(program.stderr), ended])
  return { stdout, stderr, code }
}

/** The address that a recipe prints once it listens. Rejects if it ends first. */
export async function serveRecipe(name: string, provider: Provider, env: Readonly<Record<string, string>> = {}): Promise<string> {
  const { program, ended } = startRecipe(name, provider, [], env)
  const stderr = text(program.stderr)
  const address = new Promise<string>((resolve) => program.stdout.setEncoding('utf8').once('data', (line: string) => resolve(line.trim())))
  const failed = ended.then(async (code) => {
    throw new Error(`${name} has ended with ${code}: ${await stderr}`)
  })
  return Promise.race([address, failed])
}
