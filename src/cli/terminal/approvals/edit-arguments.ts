import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { messageOf } from '../../../core/errors.ts'
import { isJsonObject, type JsonObject } from '../../../core/messages.ts'
import { visible } from '../../../core/text/visible.ts'
import { prepareArguments } from '../../../tools/arguments.ts'
import type { Terminal } from '../terminal.ts'
import type { Asker } from './asker.ts'

/**
 * Lets a person edit the arguments of a call until they are valid. Opens the program of VISUAL or EDITOR if one is set. Resolves with
 * undefined if the person enters nothing, which leaves the arguments unchanged.
 */
export async function editArguments(
  tool: string,
  args: JsonObject,
  { terminal, asker, signal }: { terminal: Terminal; asker: Asker; signal: AbortSignal },
): Promise<JsonObject | undefined> {
  const { VISUAL, EDITOR } = terminal.io.env
  const editor = VISUAL || EDITOR
  let text = JSON.stringify(args, null, 2)
  for (;;) {
    text = await (editor ? asker.lend(() => editIn(editor, text)) : asker.ask('the arguments, as JSON (empty: unchanged):\n', signal, text))
    if (text.trim() === '') return undefined
    const read = await readEdited(text, tool, asker)
    if ('args' in read) return read.args
    terminal.note(terminal.paint('red', visible(read.problem)))
    if (editor && (await asker.choose('edit them again?', { y: '[Y]es', n: '[n]o' }, signal, 'y')) === 'n') return undefined
  }
}

async function readEdited(text: string, name: string, { tools }: Asker): Promise<{ args: JsonObject } | { problem: string }> {
  let args: unknown
  try {
    args = JSON.parse(text)
  } catch (error) {
    return { problem: `that is not JSON: ${messageOf(error)}` }
  }
  if (!isJsonObject(args)) return { problem: 'the arguments are a JSON object' }
  const tool = tools.find((one) => one.name === name)
  const prepared = tool === undefined ? undefined : await prepareArguments(tool, text)
  return prepared?.ok === false ? { problem: prepared.problem.message } : { args }
}

/** Opens a text in an editor program, and returns the edited text. Rejects if the program can't be started, or fails. */
async function editIn(editor: string, text: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'toolloop-'))
  try {
    const file = join(folder, 'arguments.json')
    await writeFile(file, `${text}\n`, { mode: 0o600 })
    // VISUAL and EDITOR may contain options for the program, as in Git.
    const child =
      process.platform === 'win32'
        ? spawn(`${editor} "${file}"`, { stdio: 'inherit', shell: true })
        : spawn('sh', ['-c', `${editor} "$1"`, 'sh', file], { stdio: 'inherit' })
    const [code, signal] = await once(child, 'close')
    if (code !== 0) throw new Error(`${editor} ended with ${code ?? signal}`)
    return await readFile(file, 'utf8')
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
