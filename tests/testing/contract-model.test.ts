import assert from 'node:assert/strict'
import { describe, expect, it } from 'vitest'
import { testModel } from '../../src/testing/index.ts'
import { refuseIllegal } from '../models/rules/strict-provider.ts'
import { type Defect, fetchModel } from './fetch-model.ts'

testModel(
  'contract of ChatModel, kept by a small driver over fetch',
  (server, { maxRetries }) => fetchModel({ baseURL: server.baseURL, maxRetries }),
  // Some cases wait for a second; the others run meanwhile.
  { describe, it: it.concurrent, expect },
  { refuse: refuseIllegal },
)

/** Returns the suite's cases by name, which test a driver with a defect. */
function casesAgainst(defect: Defect): Map<string, () => Promise<void>> {
  const cases = new Map<string, () => Promise<void>>()
  const collect = {
    describe: (_: string, body: () => void) => body(),
    it: (name: string, body: () => Promise<void>) => cases.set(name, body),
    expect,
  }
  testModel('broken', (server, { maxRetries }) => fetchModel({ baseURL: server.baseURL, maxRetries, defect }), collect)
  return cases
}

const noticedBy: Record<Defect, string> = {
  'ignores-index': 'parallel calls whose pieces interleave are returned complete and in order',
  'parses-arguments': 'tool calls keep their order, ids and unparsed arguments',
  'drops-text-beside-calls': 'text beside calls is kept',
  'trusts-finish-reason': 'calls count as calls whatever the finish reason says',
  'decodes-chunks-alone': 'a response that arrives in chunks of 1 bytes is the same',
  'knows-only-lf': 'a response that arrives with the framing crlf is the same',
  'sends-empty-tools': 'without tools the request has no tools and no tool choice',
  'sorts-tools': 'tools are sent unchanged and in order',
  'forgets-tool-choice': 'all four tool choices reach the provider',
  'drops-failed-results': 'a history with calls is accepted, with one result for each call',
  'trims-messages': 'the messages reach the provider unchanged',
  'ignores-retry-after': 'a rate-limited request is retried after the time that the provider asks for',
  'never-retries': 'HTTP 503 is retried',
  'retries-everything': 'HTTP 401 is unauthorized and not retried',
  'retries-after-output': 'an interrupted stream (cutAfterBytes) is stream_cut, keeps what arrived, and is not retried once text was shown',
  'takes-cut-for-complete': 'a stream that ends without content is stream_cut, not an empty answer',
  'takes-error-for-empty': 'HTTP 200 with an error for a body is a provider_error, streamed or not',
  'loses-partial': 'an error inside a stream is a provider_error that keeps what arrived',
  'throws-bare-errors': 'a refused connection is connection_failed',
  'sends-after-abort': 'a request with an aborted signal sends nothing',
  'reports-abort-as-failure': 'an abort in the middle of a stream ends the request and its connection',
  'leaks-listeners': "no request leaves a listener on the caller's signal",
  'forgets-usage': 'usage is normalized, streamed or not',
  'shares-state': 'concurrent requests do not mix',
}

describe('testModel', () => {
  it.for(Object.entries(noticedBy) as [Defect, string][])('notices a driver that %s', async ([defect, name]) => {
    const run = casesAgainst(defect).get(name)
    if (run === undefined) throw new Error(`Expected a case named \`${name}\``)
    await expect(run()).rejects.toThrow()
  })

  it('skips cases by name, and rejects unknown names', () => {
    const names: string[] = []
    const collect = { describe: (_: string, body: () => void) => body(), it: (name: string) => names.push(name), expect }
    const create = () => fetchModel({ baseURL: 'http://127.0.0.1:9', maxRetries: 0 })
    testModel('x', create, collect, { skip: { 'text beside calls is kept': 'the format has no place for it' } })
    expect(names).not.toContain('text beside calls is kept')
    expect(names.length).toBeGreaterThan(50)
    expect(() => testModel('x', create, collect, { skip: { 'no such case': '' } })).toThrow(
      'Expected `skip` to be names of cases, got `"no such case"`',
    )
  })

  it('works with two assertions of a test runner', async () => {
    const cases = new Map<string, () => Promise<void>>()
    testModel('x', (server, { maxRetries }) => fetchModel({ baseURL: server.baseURL, maxRetries }), {
      describe: (_, body) => body(),
      it: (name, body) => cases.set(name, body),
      expect: (actual) => ({
        toBe: (expected) => assert.strictEqual(actual, expected),
        toEqual: (expected) => assert.deepEqual(actual, expected),
      }),
    })
    const slow = /rate-limited|bytes|framing|silent|nothing at all/
    const quick = [...cases].filter(([name]) => !slow.test(name))
    expect(quick.length).toBeGreaterThan(35)
    for (const [, run] of quick) await run()
  })

  it('closes the servers of a case that fails', async () => {
    const urls: string[] = []
    const cases: (() => Promise<void>)[] = []
    const collect = {
      describe: (_: string, body: () => void) => body(),
      it: (_: string, body: () => Promise<void>) => cases.push(body),
      expect,
    }
    testModel(
      'x',
      (server) => {
        urls.push(server.url)
        throw new Error('no model')
      },
      collect,
    )
    await expect(cases[0]?.()).rejects.toThrow('no model')
    await expect(fetch(`${urls[0]}/v1/models`)).rejects.toThrow()
  })
})
