/**
 * How fast text calls are read, through the sink form that the loop uses: `node tests/bench/dialects.ts [DIALECT]`.
 * In CPU time, each dialect in a process of its own: all figures are the best of several runs.
 */
import { execFileSync } from 'node:child_process'
import { dialectNames, openTextToolParser } from '../../src/dialects/index.ts'
import type { ToolDefinition } from '../../src/tools/tool.ts'

const million = 1_000_000
const warmUp = 5
const tools: ToolDefinition[] = [
  {
    type: 'function',
    function: { name: 'search', parameters: { type: 'object', properties: { query: { type: 'string' }, limit: { type: 'integer' } } } },
  },
]
const prose = 'The quick brown fox jumps over the lazy dog, while 12 others (all of them slow) watch; nobody minds.\n'

/** Equal pieces are one string: millions of them would be fetched from memory one by one, where a real piece has just been made. */
function cut(text: string, size: number): string[] {
  const known = new Map<string, string>()
  const chunks: string[] = []
  for (let at = 0; at < text.length; at += size) {
    const piece = text.slice(at, at + size)
    const same = known.get(piece) ?? piece
    if (same === piece) known.set(piece, piece)
    chunks.push(same)
  }
  return chunks
}

/** Milliseconds of CPU time to read `chunks` once, garbage collection included; `expected` calls must be found. */
function timeOf(dialect: string, chunks: readonly string[], expected: number): number {
  let calls = 0
  let length = 0
  const parser = openTextToolParser(
    { dialect, tools },
    {
      text: (text) => {
        length += text.length
      },
      call: () => {
        calls++
      },
      reject: (raw) => {
        length += raw.length
      },
    },
  )
  const start = process.cpuUsage()
  for (let index = 0; index < chunks.length; index++) parser.push(chunks[index] ?? '')
  parser.end()
  const used = process.cpuUsage(start)
  if (calls !== expected) throw new Error(`Expected ${expected} calls in ${dialect}, got ${calls} beside ${length} characters of text`)
  return (used.user + used.system) / 1000
}

/** The best of `rounds` runs, after those in which the engine still compiles what it runs. */
function measure(dialect: string, chunks: readonly string[], expected: number, rounds = 8): number {
  const times = Array.from({ length: warmUp + rounds }, () => timeOf(dialect, chunks, expected))
  return Math.min(...times.slice(warmUp))
}

/**
 * How much longer one text of 8 MB takes than one of 1 MB, both times for 8 MB in all, so that both have the same garbage to collect and
 * the same luck with whatever else the machine does. The best of several rounds, since other work only ever adds.
 */
function growth(dialect: string, of: (characters: number) => string[], calls: number): string {
  const short = of(million)
  const long = of(8 * million)
  let bestShort = Number.POSITIVE_INFINITY
  let bestLong = Number.POSITIVE_INFINITY
  for (let round = 0; round < 9; round++) {
    let sum = 0
    for (let time = 0; time < 8; time++) sum += timeOf(dialect, short, calls)
    bestShort = Math.min(bestShort, sum / 8)
    bestLong = Math.min(bestLong, timeOf(dialect, long, calls))
  }
  return (bestLong / bestShort).toFixed(1)
}

function speed(characters: number, milliseconds: number): string {
  return `${(characters / million / (milliseconds / 1000)).toFixed(0)} MB/s`
}

const callOf: Readonly<Record<string, (value: string) => string>> = {
  'tool-action': (value) => `<tool_action name="search"><query value="${value}" /><limit value="3" /></tool_action>`,
  hermes: (value) => `<tool_call>\n{"name": "search", "arguments": {"query": "${value}", "limit": 3}}\n</tool_call>`,
  json: (value) => `{"name": "search", "arguments": {"query": "${value}", "limit": 3}}`,
  'qwen-coder': (value) =>
    `<tool_call>\n<function=search>\n<parameter=query>\n${value}\n</parameter>\n<parameter=limit>\n3\n</parameter>\n</function>\n</tool_call>`,
  glm: (value) =>
    `<tool_call>search\n<arg_key>query</arg_key>\n<arg_value>${value}</arg_value>\n<arg_key>limit</arg_key>\n<arg_value>3</arg_value>\n</tool_call>`,
  mistral: (value) => `[TOOL_CALLS]search[ARGS]{"query": "${value}", "limit": 3}`,
  pythonic: (value) => `[search(query="${value}", limit=3)]`,
  invoke: (value) => `<invoke name="search"><parameter name="query">${value}</parameter><parameter name="limit">3</parameter></invoke>`,
  salvage: (value) => `<|tool_call_begin|>functions.search:0<|tool_call_argument_begin|>{"query": "${value}", "limit": 3}<|tool_call_end|>`,
  react: (value) => `Action: search\nAction Input: {"query": "${value}", "limit": 3}`,
}

/** What one dialect needs, measured in a process of its own: what ran before decides how the engine compiles the code they share. */
function figuresOf(dialect: string): Record<string, string> {
  const write = callOf[dialect]
  if (write === undefined) throw new Error(`No call to measure for ${dialect}`)
  const plain = cut(prose.repeat(80_000), 4)
  const small = `${write('weather in Oslo tomorrow')}\n`.repeat(20_000)
  const long = (characters: number): string[] => cut(write('x'.repeat(characters)), 4)
  const unclosed = (characters: number): string[] => cut(write('x'.repeat(characters)).slice(0, characters), 4)
  return {
    'small calls, 4 characters': speed(small.length, measure(dialect, cut(small, 4), 20_000)),
    'small calls, whole': speed(small.length, measure(dialect, [small], 20_000)),
    'plain text': speed(prose.length * 80_000, measure(dialect, plain, 0, 3)),
    '1 MB argument': `${measure(dialect, long(million), 1).toFixed(0)} ms`,
    '8 MB : 1 MB': growth(dialect, long, 1),
    '8 MB : 1 MB unclosed': growth(dialect, unclosed, 0),
  }
}

const [only] = process.argv.slice(2)
if (only !== undefined) console.log(JSON.stringify(figuresOf(only)))
else {
  const rows = dialectNames.map((dialect): [string, unknown] => {
    const figures = execFileSync(process.execPath, [import.meta.filename, dialect], { encoding: 'utf8' })
    return [dialect, JSON.parse(figures)]
  })
  console.table(Object.fromEntries(rows))
}
