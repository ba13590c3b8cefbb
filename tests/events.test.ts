import { describe, expect, expectTypeOf, it } from 'vitest'
import { EventBus } from '../src/core/callbacks/event-bus.ts'
import { Event, type EventMeta, type EventName, type EventPayloads, type RunEvent } from '../src/core/events.ts'
import type { JsonObject } from '../src/core/messages.ts'

const meta: EventMeta = { runId: 'run_1', iteration: 1, time: 0 }
const text = { text: 'hello' }

interface Failure {
  error: unknown
  event: EventName
}

function busWithFailures(): { bus: EventBus; failures: Failure[] } {
  const failures: Failure[] = []
  return { bus: new EventBus((error, event) => failures.push({ error, event })), failures }
}

type Then = (resolve: unknown, reject: (error: unknown) => void) => void
const thenable = (then: Then) => Object.fromEntries([['then', then]])

/** Runs all promise callbacks that are due. */
const settle = () => new Promise((resolve) => setImmediate(resolve))

describe('EventBus', () => {
  it('passes the payload and the meta to each listener, in the order of subscription', () => {
    const { bus } = busWithFailures()
    const seen: unknown[] = []
    bus.on(Event.TEXT_DELTA, (payload, about) => seen.push(['first', payload, about]))
    bus.on('TEXT_DELTA', (payload, about) => seen.push(['second', payload, about]))
    bus.onAny((name, payload, about) => seen.push([name, payload, about]))
    bus.emit(Event.TEXT_DELTA, text, meta)
    expect(seen).toEqual([
      ['first', text, meta],
      ['second', text, meta],
      ['TEXT_DELTA', text, meta],
    ])
  })

  it('calls a listener that subscribed twice twice, and each unsubscription removes one', () => {
    const { bus } = busWithFailures()
    let calls = 0
    const listener = () => calls++
    const off = bus.on(Event.TEXT_DELTA, listener)
    bus.on(Event.TEXT_DELTA, listener)
    bus.emit(Event.TEXT_DELTA, text, meta)
    off()
    off()
    bus.emit(Event.TEXT_DELTA, text, meta)
    expect(calls).toBe(3)
  })

  it('separates the events', () => {
    const { bus } = busWithFailures()
    const seen: string[] = []
    bus.on(Event.TOOL_CALL_END, ({ result }) => seen.push(result))
    bus.emit(Event.TEXT_DELTA, text, meta)
    bus.emit(Event.TOOL_CALL_END, { tool: 't', result: 'r', bytes: 1, outcome: 'ok' }, meta)
    expect(seen).toEqual(['r'])
  })

  it('H37 a throwing listener keeps no other from being called, and does not disturb the emitter', () => {
    const { bus, failures } = busWithFailures()
    const seen: string[] = []
    const broken = new Error('broken')
    bus.on(Event.TEXT_DELTA, () => seen.push('before'))
    bus.on(Event.TEXT_DELTA, () => {
      throw broken
    })
    bus.on(Event.TEXT_DELTA, () => seen.push('after'))
    bus.onAny(() => {
      throw broken
    })
    bus.onAny(() => seen.push('any'))
    bus.emit(Event.TEXT_DELTA, text, meta)
    expect(seen).toEqual(['before', 'after', 'any'])
    expect(failures).toEqual([
      { error: broken, event: 'TEXT_DELTA' },
      { error: broken, event: 'TEXT_DELTA' },
    ])
  })

  it('H37 reports a failing listener once, however often it fails', () => {
    const { bus, failures } = busWithFailures()
    let calls = 0
    bus.onAny((name) => {
      calls++
      throw new Error(name)
    })
    for (let i = 0; i < 50; i++) bus.emit(Event.TEXT_DELTA, text, meta)
    bus.emit(Event.TOOL_CALL_END, { tool: 't', result: '', bytes: 0, outcome: 'ok' }, meta)
    expect(calls).toBe(51)
    expect(failures).toEqual([{ error: new Error('TEXT_DELTA'), event: 'TEXT_DELTA' }])
  })

  it('H37 a rejecting promise is reported once and is not an unhandled rejection', async () => {
    const { bus, failures } = busWithFailures()
    bus.on(Event.TEXT_DELTA, async ({ text: said }) => {
      await undefined
      throw new Error(said)
    })
    bus.emit(Event.TEXT_DELTA, { text: 'one' }, meta)
    bus.emit(Event.TEXT_DELTA, { text: 'two' }, meta)
    expect(failures).toEqual([])
    await settle()
    expect(failures).toEqual([{ error: new Error('one'), event: 'TEXT_DELTA' }])
  })

  it('H37 a listener that never resolves delays nothing', () => {
    const { bus, failures } = busWithFailures()
    let calls = 0
    bus.on(Event.TEXT_DELTA, () => new Promise(() => {}))
    bus.on(Event.TEXT_DELTA, () => calls++)
    bus.emit(Event.TEXT_DELTA, text, meta)
    bus.emit(Event.TEXT_DELTA, text, meta)
    expect([calls, failures]).toEqual([2, []])
  })

  it('accepts any thenable, even a misbehaving one', async () => {
    const { bus, failures } = busWithFailures()
    bus.on(Event.TEXT_DELTA, () => thenable((_, reject) => reject('rejected')))
    bus.on(Event.TEXT_DELTA, () =>
      thenable(() => {
        throw 'threw'
      }),
    )
    bus.on(Event.TEXT_DELTA, () =>
      Object.defineProperty({}, 'then', {
        get() {
          throw 'getter'
        },
      }),
    )
    bus.on(Event.TEXT_DELTA, () => Object.fromEntries([['then', 'no function']]))
    const { proxy, revoke } = Proxy.revocable({}, {})
    revoke()
    bus.on(Event.TEXT_DELTA, () => proxy)
    for (const value of [null, undefined, 0, '', Symbol('x')]) bus.on(Event.TEXT_DELTA, () => value)
    bus.emit(Event.TEXT_DELTA, text, meta)
    await new Promise(setImmediate)
    expect(failures.map(({ error }) => error)).toEqual(['getter', expect.any(TypeError), 'rejected', 'threw'])
  })

  it.each([[new Error('broken')], [undefined], [null], ['text'], [Object.create(null)]])(
    'a failing reporter changes nothing either: %s',
    (thrown) => {
      const bus = new EventBus(() => {
        throw new Error('the reporter, too')
      })
      let calls = 0
      bus.on(Event.TEXT_DELTA, () => {
        throw thrown
      })
      bus.on(Event.TEXT_DELTA, () => calls++)
      expect(() => bus.emit(Event.TEXT_DELTA, text, meta)).not.toThrow()
      expect(calls).toBe(1)
    },
  )

  it.each([
    [new Error('broken'), 'broken'],
    ['as a text', 'as a text'],
    [undefined, 'failed without saying why'],
    [Object.create(null), '{}'],
  ])('without a reporter, the failure is a warning of the process: %s', async (thrown, message) => {
    const warned = new Promise<Error>((resolve) => process.once('warning', resolve))
    const bus = new EventBus()
    bus.on(Event.TEXT_DELTA, () => {
      throw thrown
    })
    bus.emit(Event.TEXT_DELTA, text, meta)
    expect((await warned).message).toBe(message)
  })
})

describe('unsubscribing', () => {
  it('a listener that is removed during an emit is not called by it any more', () => {
    const { bus } = busWithFailures()
    const seen: string[] = []
    bus.on(Event.TEXT_DELTA, () => {
      seen.push('first')
      offSecond()
      offAny()
    })
    const offSecond = bus.on(Event.TEXT_DELTA, () => seen.push('second'))
    bus.on(Event.TEXT_DELTA, () => seen.push('third'))
    const offAny = bus.onAny(() => seen.push('any'))
    bus.emit(Event.TEXT_DELTA, text, meta)
    expect(seen).toEqual(['first', 'third'])
  })

  it('a listener that removes itself keeps no other from being called', () => {
    const { bus } = busWithFailures()
    const seen: string[] = []
    const off = bus.on(Event.TEXT_DELTA, () => {
      seen.push('first')
      off()
    })
    bus.on(Event.TEXT_DELTA, () => seen.push('second'))
    bus.emit(Event.TEXT_DELTA, text, meta)
    bus.emit(Event.TEXT_DELTA, text, meta)
    expect(seen).toEqual(['first', 'second', 'second'])
  })

  it('a listener that is added during an emit is called from the next one on', () => {
    const { bus } = busWithFailures()
    const seen: string[] = []
    bus.on(Event.TEXT_DELTA, () => {
      if (seen.length === 0) bus.on(Event.TEXT_DELTA, () => seen.push('late'))
      seen.push('first')
    })
    bus.on(Event.TEXT_DELTA, () => seen.push('second'))
    bus.emit(Event.TEXT_DELTA, text, meta)
    bus.emit(Event.TEXT_DELTA, text, meta)
    expect(seen).toEqual(['first', 'second', 'first', 'second', 'late'])
  })

  it('once means once, even if its listener, or one before it, emits the event again', () => {
    const { bus } = busWithFailures()
    let calls = 0
    let nested = false
    bus.on(Event.TEXT_DELTA, () => {
      if (nested) return
      nested = true
      bus.emit(Event.TEXT_DELTA, text, meta)
    })
    bus.once(Event.TEXT_DELTA, () => {
      calls++
      bus.emit(Event.TEXT_DELTA, text, meta)
    })
    bus.emit(Event.TEXT_DELTA, text, meta)
    bus.emit(Event.TEXT_DELTA, text, meta)
    expect(calls).toBe(1)
  })

  it('a failing once listener is reported and removed', async () => {
    const { bus, failures } = busWithFailures()
    bus.once(Event.TEXT_DELTA, () => {
      throw 'at once'
    })
    bus.once(Event.TEXT_DELTA, async () => {
      throw 'late'
    })
    bus.emit(Event.TEXT_DELTA, text, meta)
    expect(bus.hasListeners(Event.TEXT_DELTA)).toBe(false)
    bus.emit(Event.TEXT_DELTA, text, meta)
    await settle()
    expect(failures.map(({ error }) => error)).toEqual(['at once', 'late'])
  })

  it('hasListeners is true exactly while a listener would be called', () => {
    const { bus } = busWithFailures()
    expect(bus.hasListeners(Event.TEXT_DELTA)).toBe(false)
    const off = bus.on(Event.TEXT_DELTA, () => {})
    expect([bus.hasListeners(Event.TEXT_DELTA), bus.hasListeners(Event.RUN_END)]).toEqual([true, false])
    off()
    const offOnce = bus.once(Event.TEXT_DELTA, () => {})
    expect(bus.hasListeners(Event.TEXT_DELTA)).toBe(true)
    offOnce()
    expect(bus.hasListeners(Event.TEXT_DELTA)).toBe(false)
    const offAny = bus.onAny(() => {})
    expect([bus.hasListeners(Event.TEXT_DELTA), bus.hasListeners(Event.RUN_END)]).toEqual([true, true])
    offAny()
    expect(bus.hasListeners(Event.RUN_END)).toBe(false)
  })

  it('ten thousand subscriptions leave no trace', () => {
    const { bus } = busWithFailures()
    for (let i = 0; i < 10_000; i++) {
      const offs = [bus.on(Event.TEXT_DELTA, () => {}), bus.once(Event.TEXT_DELTA, () => {}), bus.onAny(() => {})]
      for (const off of offs) off()
    }
    expect(bus.hasListeners(Event.TEXT_DELTA)).toBe(false)
  })
})

describe('names and payloads', () => {
  it('every name is its own value', () => {
    expect(Object.entries(Event).filter(([key, value]) => key !== value)).toEqual([])
  })

  it('are typed by the name', () => {
    const bus = new EventBus()
    bus.on(Event.TOOL_CALL_START, (payload, about) => {
      expectTypeOf(payload).toEqualTypeOf<{ tool: string; args: JsonObject }>()
      expectTypeOf(about).toEqualTypeOf<EventMeta>()
    })
    bus.on('TOOL_CALL_END', (payload) => expectTypeOf(payload).toMatchObjectType<{ tool: string; result: string; bytes: number }>())
    expectTypeOf<Extract<RunEvent, { type: 'TEXT_DELTA' }>>().toMatchObjectType<{ type: 'TEXT_DELTA'; text: string; meta: EventMeta }>()
    expectTypeOf(bus.on<'TOOL_CALL_END'>)
      .parameter(0)
      .toEqualTypeOf<'TOOL_CALL_END'>()
    expectTypeOf<'TOOL_CALL'>().not.toExtend<EventName>()
    expectTypeOf<{ tool: string }>().not.toExtend<EventPayloads['TOOL_CALL_END']>()
    expect(bus.hasListeners(Event.TOOL_CALL_START)).toBe(true)
  })
})
