import type { Content } from '../../core/messages.ts'
import { keepShape } from '../../core/v8/keep-shape.ts'
import { sorted } from '../decisions/decisions.ts'
import type { PlannedCall } from '../recorded.ts'

/** Notices a model that makes the very same call turn after turn and is told the very same thing each time. */
export class RepeatBreaker {
  readonly #maxRepeats: number
  /** The last turn's calls, by tool and result. */
  #last = new Map<string, CountedCall[]>()

  constructor(maxRepeats: number) {
    this.#maxRepeats = maxRepeats
  }

  /**
   * Counts one turn's calls with what they came to. `tell`: ids of calls now repeated as often as is allowed, whose results should say so.
   * `end`: a call was repeated although the model had been told. A call whose result changes is never a repeat: it may be polling.
   */
  countRound(planned: readonly PlannedCall[], records: readonly { id: string; content: Content }[]): Repeats {
    if (this.#maxRepeats === Number.POSITIVE_INFINITY) return noRepeats
    const results = new Map<string, Content>()
    for (const { id, content } of records) results.set(id, content)
    const counted = new Map<string, CountedCall[]>()
    const tell = new Set<string>()
    let end = false
    const known = new Map<string, Map<string, number>>()
    for (const call of planned) {
      const place = `${call.name}\n${resultKey(results.get(call.id))}`
      // Arguments are compared only where the tool and its result are the same.
      const before = this.#last.get(place)
      const repeats = before === undefined ? 0 : (repeatsBefore(place, before).get(argumentsKey(call)) ?? -1) + 1
      if (repeats === this.#maxRepeats) tell.add(call.id)
      if (repeats > this.#maxRepeats) end = true
      const group = counted.get(place)
      if (group === undefined) counted.set(place, [{ call, repeats }])
      else group.push({ call, repeats })
    }
    this.#last = counted
    return { tell, end }

    function repeatsBefore(place: string, before: readonly CountedCall[]): Map<string, number> {
      const byArguments = known.get(place) ?? new Map(before.map(({ call, repeats }) => [argumentsKey(call), repeats]))
      known.set(place, byArguments)
      return byArguments
    }
  }
}

/** A call, and how often in a row it has been made before. */
interface CountedCall {
  call: PlannedCall
  repeats: number
}

export interface Repeats {
  tell: ReadonlySet<string>
  end: boolean
}

export const noRepeats: Repeats = { tell: new Set(), end: false }

/** Beyond this many characters two texts are compared as they are: putting a megabyte in order to compare it costs too much. */
const longestOrdered = 4_096

/** What makes two calls of one tool the same call: white space and the order of keys don't count. */
function argumentsKey({ args, rawArguments }: PlannedCall): string {
  return args === undefined || rawArguments.length > longestOrdered ? rawArguments : JSON.stringify(sorted(args))
}

function resultKey(content: Content | undefined): string {
  return typeof content === 'string' ? content : JSON.stringify(content ?? null)
}

keepShape(RepeatBreaker)
