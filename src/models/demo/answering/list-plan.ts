import type { JsonObject } from '../../../messages.ts'
import type { Condition, FileRef, FileSet, Order, Quantity, Question, Top } from '../intents.ts'
import { globOf } from '../reading/kinds.ts'

/** What a question needs to have listed. */
export interface Need {
  set: FileSet
  lines: boolean
  sort?: Top['measure']
  order?: Order
  limit: number
}

/** A planned call; grows while needs are added to it. */
interface Call {
  lines: boolean
  sort?: Top['measure']
  order?: Order
  limit: number
}

/** What the default cap of a result has room for. */
const mostToFilter = 600
const mostToShow = 100
/** Beyond the first: so that several that are equally long are all seen. */
const ties = 9

/**
 * The `list_files` calls of one user message. What several questions need of the same files is asked for once: the count, the longest and
 * its lines come from a single list.
 */
export class ListPlan {
  readonly #calls = new Map<string, Call[]>()

  constructor(questions: readonly Question[], turn: number) {
    const needs = questions
      .flatMap(needsOf)
      .flatMap(withOuter)
      .filter(({ set }) => set.turn === turn)
    // Those without an order go along with one that has an order.
    for (const need of [...needs.filter(({ sort }) => sort !== undefined), ...needs.filter(({ sort }) => sort === undefined)]) {
      const calls = this.#calls.get(keyOf(need.set)) ?? []
      const shared = calls.find((call) => serves(call, need))
      if (shared === undefined) calls.push({ ...need })
      else {
        shared.lines ||= need.lines
        shared.limit = Math.max(shared.limit, need.limit)
      }
      this.#calls.set(keyOf(need.set), calls)
    }
  }

  /** The arguments of the call that serves a need; the need's own when none was foreseen. */
  argumentsFor(need: Need): JsonObject {
    const { lines, sort, order, limit } = this.#calls.get(keyOf(need.set))?.find((call) => serves(call, need)) ?? need
    const pattern = globOf(need.set.kinds)
    return {
      path: need.set.folder,
      ...(pattern === undefined ? {} : { pattern }),
      ...(need.set.recursive ? {} : { recursive: false }),
      ...(lines ? { lines: true } : {}),
      ...(sort === undefined ? {} : { sort: sort === 'bytes' ? 'size' : sort, order: order ?? 'asc' }),
      limit,
      ...(need.set.what === 'folder' ? { folders: true } : {}),
    }
  }
}

/** Whether the call gives what is needed: any order will do where none is asked for. */
function serves(call: Call, need: Need): boolean {
  return need.sort === undefined || (call.sort === need.sort && call.order === need.order)
}

function keyOf({ folder, kinds, recursive, what }: FileSet): string {
  return JSON.stringify([folder, globOf(kinds) ?? '', recursive, what])
}

/** A set within another needs that one listed too. */
function withOuter(need: Need): Need[] {
  const { within } = need.set
  return within === undefined ? [need] : [need, ...withOuter(needOf(within, false))]
}

function needsOf(question: Question): Need[] {
  switch (question.ask) {
    case 'number':
    case 'check':
      return needsOfQuantity(question.quantity)
    case 'exists':
      return [needOf(question.set, false)]
    case 'rank':
      return [needOf(question.set, question.set.top?.measure === 'lines')]
    case 'list':
      return [needOf(question.set, question.show.includes('lines'), true)]
    case 'compare':
      return question.sides.flatMap(needsOfQuantity)
    case 'read':
      return needsOfFile(question.file, false, false)
    case 'modified':
      return needsOfFile(question.file, false)
    default:
      return []
  }
}

function needsOfQuantity(quantity: Quantity): Need[] {
  switch (quantity.of) {
    case 'count':
      return [needOf(quantity.set, false)]
    case 'total':
    case 'average':
      return [needOf(quantity.set, quantity.measure === 'lines')]
    case 'file':
      return needsOfFile(quantity.file, quantity.measure === 'lines', quantity.measure !== 'words' && quantity.measure !== 'characters')
    case 'sum':
      return quantity.items.flatMap(needsOfQuantity)
    case 'formula':
      return quantity.formula.parts.flatMap((part) => (typeof part === 'string' ? [] : needsOfQuantity(part)))
    default:
      return []
  }
}

/** `listed: false`: a file known by its name is read without having been listed. */
function needsOfFile(file: FileRef, lines: boolean, listed = true): Need[] {
  if (file.by === 'comparison') return file.files.flatMap((each) => needsOfFile(each, lines || file.measure === 'lines'))
  if (file.by === 'name') return listed ? [needOf(file.set, lines)] : []
  return [needOf(file.set, lines)]
}

/** What has to be listed of a set to answer about it; the same each time, so that the call is found again. */
export function needOf(set: FileSet, lines: boolean, isShown = false): Need {
  const { top, conditions, without, mentions } = set
  const withLines = lines || top?.measure === 'lines' || conditions.some(({ measure }) => measure === 'lines')
  const filters = conditions.length > 0 || without.length > 0 || mentions.length > 0 || set.within !== undefined
  const [condition] = conditions
  const order = top ?? (condition === undefined ? undefined : { measure: condition.measure, order: orderFor(condition) })
  // A name may be there several times: then all of them are told.
  const isName = set.kinds.some(({ after }) => after?.startsWith('named'))
  const few = top === undefined ? (isShown ? mostToShow : isName ? 20 : 1) : Math.min(top.skip + top.most + ties, mostToShow)
  return {
    set,
    lines: withLines,
    limit: filters ? mostToFilter : few,
    ...(order === undefined ? {} : { sort: order.measure, order: order.order }),
  }
}

/** The files a condition lets through come first. */
function orderFor({ least, most }: Condition): Order {
  return least === undefined || least === most ? 'asc' : 'desc'
}
