import { describe, expect, it } from 'vitest'
import { providerError, responseError } from '../../src/models/errors/provider-error.ts'

const context = { provider: 'p', model: 'm', secrets: ['my-own-key-123'] }

describe('an error of a provider', () => {
  it('H16 quotes no key in any of its fields', () => {
    const headers = new Headers({ 'x-request-id': 'req-my-own-key-123' })
    const body = { error: { message: 'no my-own-key-123', code: 'bad_key_my-own-key-123' } }
    const failed = providerError({ status: 400, headers, body }, context)
    expect(failed).toMatchObject({ providerCode: 'bad_key_[redacted]', requestId: 'req-[redacted]' })
    const cut = responseError('bad_response', 'x', 'my-own-key-123', context, { retryable: false, providerCode: 'my-own-key-123' })
    expect(cut).toMatchObject({ providerCode: '[redacted]', retryable: false })
    expect([failed.message, cut.message].join()).not.toContain('my-own-key-123')
  })

  it('F25 never splits a character, even if it cuts a long message', () => {
    for (const message of ['a\ud83d b', `a${'😀'.repeat(600)}`])
      expect(providerError({ status: 400, body: { error: { message, code: message } } }, context).message.isWellFormed()).toBe(true)
  })
})
