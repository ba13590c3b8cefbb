import type { Decision, Verdict } from '../../../agent/decisions/decisions.ts'
import { shownAbout } from '../../../agent/nested/nested-items.ts'
import type { PendingItem, RunnerOptions } from '../../../agent/types/options.ts'
import { jsonOrText } from '../../../core/json.ts'
import { isJsonObject, type Json, type JsonObject, withoutUndefined } from '../../../core/messages.ts'
import { readable, visible } from '../../../core/text/visible.ts'
import type { Terminal } from '../terminal.ts'
import { askAboutPlan } from './ask-plan.ts'
import type { Asker } from './asker.ts'
import { asJson, rowsOf } from './shown-arguments.ts'

export interface Deciding {
  terminal: Terminal
  asker: Asker
  approve: NonNullable<RunnerOptions['approve']>
  signal: AbortSignal
  /** Whether `approve` approves every call without asking. Default false. */
  yes?: boolean | undefined
}

/**
 * Asks the person about everything that a run waits for. If there is a plan, asks about the whole plan first. Then asks about each item
 * that is still undecided. Rejects if the signal is aborted.
 */
export async function decideItems(items: readonly PendingItem[], deciding: Deciding): Promise<Decision[]> {
  const whole = deciding.yes === true ? undefined : await askAboutPlan(items, deciding)
  if (whole !== undefined) return items.map(({ toolCallId, fingerprint }) => ({ toolCallId, fingerprint, approved: whole }))
  const decisions: Decision[] = []
  for (const item of items) {
    const { toolCallId, fingerprint, path = [] } = item
    const agents = path.map(({ agent }) => visible(agent)).join(' › ')
    // The model's text before a plan is not repeated, because the screen already shows it as the answer.
    if (item.said !== undefined && item.plan === undefined) deciding.terminal.note(deciding.terminal.paint('dim', readable(item.said)))
    if (agents !== '') deciding.terminal.note(deciding.terminal.paint('yellow', `the agent ${agents} asks:`))
    decisions.push({ toolCallId, fingerprint, ...(await verdictOn(item, deciding)) })
  }
  return decisions
}

async function verdictOn(item: PendingItem, deciding: Deciding): Promise<Verdict> {
  const { kind, toolCallId, tool, args, about, effect, said, script } = item
  const { terminal, asker, approve, signal } = deciding
  if (kind === 'approval' || kind === 'budget') {
    const call = { toolCallId, tool, args, ...withoutUndefined({ about, effect, said, script }) }
    const verdict = await approve({ ...call, runId: '', context: undefined, signal })
    if (typeof verdict === 'boolean') return { approved: verdict }
    if (!verdict.approved) return { ...verdict, approved: false }
    return verdict.args === undefined ? { approved: true } : { approved: true, args: verdict.args }
  }
  if (kind === 'client_tool') {
    terminal.note(terminal.paint('yellow', `${visible(tool)} is yours to carry out, with:`))
    for (const row of rowsOf(args, terminal.columns)) terminal.row(row)
    return refusedOr(await asker.ask('its result (JSON or text, /no refuses): ', signal), (text) => ({ result: jsonOrText(text) }))
  }
  return answerQuestion(item, deciding)
}

async function answerQuestion({ tool, about, schema }: PendingItem, { terminal, asker, signal }: Deciding): Promise<Verdict> {
  const { message, url, problem } = partsOf(shownAbout(about) as Json | undefined)
  for (const line of `${tool}: ${message}`.split('\n')) terminal.note(terminal.paint('yellow', visible(line)))
  if (problem !== undefined) terminal.note(terminal.paint('red', visible(problem)))
  if (url !== undefined) {
    terminal.note(visible(url))
    const done = await asker.choose('open this page; done?', { y: '[y]es', n: '[N]o' }, signal)
    return done === 'y' ? { answer: { action: 'accept' } } : { approved: false }
  }
  const fields = isJsonObject(schema) && isJsonObject(schema.properties) ? Object.entries(schema.properties) : []
  if (fields.length === 0) {
    if (schema !== undefined) terminal.note(visible(`as JSON of this schema: ${asJson(schema as Json)}`))
    return refusedOr(await asker.ask('answer (JSON or text, /no refuses): ', signal), (text) => ({ answer: jsonOrText(text) }))
  }
  const required = Array.isArray(schema?.required) ? schema.required : []
  const answer: JsonObject = {}
  for (const [name, field] of fields) {
    const value = await askField(name, isJsonObject(field) ? field : {}, required.includes(name), { terminal, asker, signal })
    if (value === refusedField) return { approved: false }
    if (value !== undefined) answer[name] = value
  }
  return { answer }
}

const refusedField = Symbol('refused')

/** Asks for the value of one field. Resolves with undefined if the person leaves the field out or accepts its default. */
async function askField(
  name: string,
  field: JsonObject,
  isRequired: boolean,
  { terminal, asker, signal }: Omit<Deciding, 'approve'>,
): Promise<Json | typeof refusedField | undefined> {
  const { title, description, default: otherwise, type } = field
  const named = typeof title === 'string' ? title : name
  const choices = Array.isArray(field.enum) ? field.enum : type === 'boolean' ? [true, false] : undefined
  const hints = [
    ...(choices === undefined ? [] : [choices.map((one) => wordOf(one)).join(', ')]),
    ...(otherwise === undefined ? [] : [`default ${wordOf(otherwise)}`]),
    ...(isRequired || otherwise !== undefined ? [] : ['optional']),
  ]
  if (typeof description === 'string') terminal.note(terminal.paint('dim', visible(description)))
  for (;;) {
    const text = await asker.ask(`${visible(named)}${hints.length === 0 ? '' : ` (${visible(hints.join('; '))})`}, /no refuses: `, signal)
    if (text.trim() === '/no') return refusedField
    if (text.trim() === '' && (!isRequired || otherwise !== undefined)) return undefined
    const value = typedValue(text, type, choices)
    if (value !== undefined) return value
    const expected = visible(wordOf(type ?? 'value'))
    const article = /^[aeio]/.test(expected) ? 'an' : 'a'
    terminal.note(terminal.paint('red', `expected ${choices === undefined ? `${article} ${expected}` : 'one of these'}`))
  }
}

/** Reads typed text as the value of a field. Returns undefined if the text is invalid. */
function typedValue(text: string, type: Json | undefined, choices: readonly Json[] | undefined): Json | undefined {
  const typed = text.trim()
  if (choices !== undefined) {
    const meant = type === 'boolean' ? (/^y(es)?$/i.test(typed) ? 'true' : /^no?$/i.test(typed) ? 'false' : typed) : typed
    return choices.find((choice) => wordOf(choice) === meant)
  }
  if (type === 'string') return typed === '' ? undefined : text
  const value = jsonOrText(text)
  if (type === 'number' || type === 'integer') {
    const isMeant = typeof value === 'number' && (type === 'number' || Number.isInteger(value))
    return isMeant ? value : undefined
  }
  return value
}

function wordOf(value: Json): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}

function partsOf(about: Json | undefined): { message: string; url?: string | undefined; problem?: string | undefined } {
  if (!isJsonObject(about)) return { message: typeof about === 'string' ? about : asJson(about ?? null) }
  const { message, url, problem, mcpServer, ...others } = about
  const from = typeof mcpServer === 'string' ? `(the MCP server ${mcpServer}) ` : ''
  const said = typeof message === 'string' ? message : asJson(others)
  return {
    message: `${from}${said}`,
    url: typeof url === 'string' ? url : undefined,
    problem: typeof problem === 'string' ? problem : undefined,
  }
}

function refusedOr(text: string, verdict: (text: string) => Verdict): Verdict {
  return text.trim() === '' || text.trim() === '/no' ? { approved: false } : verdict(text)
}
