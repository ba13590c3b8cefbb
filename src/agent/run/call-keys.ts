import type { CallKey, ChatMessage, JsonObject } from '../../core/messages.ts'
import { approvalKey } from '../decisions/decisions.ts'
import { callName } from '../step-keys.ts'
import type { PlannedCall } from '../types/recorded.ts'

/** A call's key, and whether an earlier call had the same key. */
export interface GivenKey {
  idempotencyKey: string
  isCarried: boolean
}

/** Returns the idempotency key of the call at position `index`. The arguments of `call` are final. */
export type KeyOf = (index: number, call: Pick<PlannedCall, 'name' | 'args'>) => GivenKey

function digestOf(name: string, args: JsonObject): string {
  return approvalKey(name, args)
}

/**
 * Assigns idempotency keys to calls. If a call has not succeeded but may have taken effect, its key stays open: later calls of the same
 * tool with the same arguments get this key, until one of them succeeds. The keys derive from recorded values, so a replay assigns the same
 * keys.
 */
export class CallKeys {
  /** Whether a call may get a key that is not derived from its position in the run. */
  isUsed: boolean
  readonly #runId: string
  readonly #isNested: boolean
  /** Open keys by tool and arguments, the oldest first. */
  readonly #open = new Map<string, string[]>()
  /** In a nested run, the number of assigned keys, by tool and arguments. */
  readonly #counts = new Map<string, number>()

  /** `earlier`: the messages that the session already had. */
  constructor({ runId, depth }: { runId: string; depth: number }, earlier: readonly ChatMessage[] = []) {
    this.#runId = runId
    this.#isNested = depth > 0
    this.isUsed = this.#isNested
    for (const message of earlier) if (message.role === 'tool' && message.callKey !== undefined) this.note(message.callKey)
  }

  /** Adds an open key, or removes a key that is settled. */
  note({ idempotencyKey, call, settled }: CallKey): void {
    const keys = this.#open.get(call) ?? []
    if (settled === true) {
      const left = keys.filter((key) => key !== idempotencyKey)
      if (left.length > 0) this.#open.set(call, left)
      else this.#open.delete(call)
    } else if (!keys.includes(idempotencyKey)) this.#open.set(call, [...keys, idempotencyKey])
    this.isUsed = this.#isNested || this.#open.size > 0
  }

  /** Returns the `KeyOf` of one round. The first matching calls get the open keys. `first`: the position of the first call in its turn. */
  ofRound(iteration: number, calls: readonly PlannedCall[], first = 0): KeyOf {
    const placeOf = (index: number) => callName(this.#runId, iteration, first + index)
    const own = (idempotencyKey: string): GivenKey => ({ idempotencyKey, isCarried: false })
    const claimed = new Set<string>()
    const claim = (digest: string): GivenKey | undefined => {
      const key = this.#open.get(digest)?.find((one) => !claimed.has(one))
      if (key === undefined) return undefined
      claimed.add(key)
      return { idempotencyKey: key, isCarried: true }
    }
    const keys = calls.map(({ name, args, action, intent }, index) => {
      if (args === undefined || action !== 'run' || intent !== undefined) return own(placeOf(index))
      const digest = digestOf(name, args)
      return claim(digest) ?? own(this.#isNested ? this.#next(digest) : placeOf(index))
    })
    return (position, { name, args }) => {
      const index = position - first
      const key = keys[index] ?? own(placeOf(index))
      if (args === undefined || args === calls[index]?.args) return key
      // A decision has changed the arguments.
      const digest = digestOf(name, args)
      return claim(digest) ?? own(this.#isNested ? `${placeOf(index)}.${digest.slice(0, 12)}` : placeOf(index))
    }
  }

  /**
   * In a nested run, a key is derived from the tool and the arguments, not from the position of the call. If the outer call is repeated,
   * the model may make the nested calls in another order. A payment must not get the key of another payment.
   */
  #next(digest: string): string {
    const count = (this.#counts.get(digest) ?? 0) + 1
    this.#counts.set(digest, count)
    const key = `${this.#runId}/${digest.slice(0, 12)}`
    return count === 1 ? key : `${key}.${count}`
  }
}

/** Returns the key that a call leaves open for later calls, or the open key that it settles. Undefined if it does neither. */
export function keyLeftBy(
  call: PlannedCall,
  { idempotencyKey, isCarried, outcome, hasStarted, effect: found }: EndedCall,
): CallKey | undefined {
  const { name, args, effect } = call
  if (effect === 'read' || args === undefined) return undefined
  const isSettled = outcome === 'ok' || found === 'known'
  const isLeft = outcome === 'timeout' || outcome === 'cancelled'
  const isOpen = outcome === 'uncertain' || found === 'possible' || (isLeft && hasStarted)
  if (isSettled ? !isCarried : !isOpen) return undefined
  return { idempotencyKey, call: digestOf(name, args), ...(isSettled ? { settled: true } : {}) }
}

interface EndedCall extends GivenKey {
  outcome: string
  hasStarted: boolean
  /**
   * What is known about the effect of a call that has not succeeded. `'known'`: the call has taken effect. `'possible'`: it may have taken
   * effect.
   */
  effect: 'possible' | 'known' | undefined
}
