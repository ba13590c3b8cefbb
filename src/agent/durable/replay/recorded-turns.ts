import { type AssistantMessage, hasToolCalls, isJsonObject, type Json, withoutUndefined } from '../../../core/messages.ts'
import { isTurn } from '../../step-keys.ts'
import type { FinishedCall, Turn } from '../../types/recorded.ts'
import type { RunResult, RunStep, ToolCallRecord } from '../../types/result.ts'

/** A response of the model, as recorded. */
export interface ReplayedTurn {
  step: RunStep
  /** The message of the model. Absent if no part of it was kept, or if its text is part of the next turn's message. */
  message?: AssistantMessage
  /** The key of the turn's step, if known. */
  key?: string
}

/** The recorded turns and calls of a run. */
export interface ReplayedTurns {
  turns: ReplayedTurn[]
  /** Calls that have ended. */
  calls: ToolCallRecord[]
}

/** Reads the turns from recorded steps, in any order. */
export function turnsOfSteps(steps: readonly (readonly [key: string, value: Json])[]): ReplayedTurns {
  const turns: (ReplayedTurn & { key: string })[] = []
  const calls = new Map<string, ToolCallRecord>()
  for (const [key, value] of steps) {
    if (isTurn(key)) {
      const turn = value as never as Turn
      if (turn.kind === 'reply') turns.push({ key, step: turn.step, message: turn.message })
      else if (turn.kind === 'refused' && turn.step !== undefined) turns.push({ key, step: turn.step })
    } else if (isJsonObject(value) && 'record' in value) {
      const { record, question, noted } = value as never as FinishedCall
      // A call that asked a question, or that was planned in a preview, has not ended. An uncertain outcome does not replace an earlier
      // record of the call.
      const isLast = question === undefined && noted === undefined && !(record.outcome === 'uncertain' && calls.has(record.id))
      if (isLast) calls.set(record.id, record)
    }
  }
  turns.sort((a, b) => a.key.localeCompare(b.key, 'en', { numeric: true }))
  return { turns, calls: [...calls.values()] }
}

/** Reads the turns from the result of a run that has ended or waits. The result has all turns and calls that the steps have. */
export function turnsOfResult({ steps, newMessages, toolCalls }: Pick<RunResult, 'steps' | 'newMessages' | 'toolCalls'>): ReplayedTurns {
  const messages = newMessages.filter((message) => message.role === 'assistant')
  const turns = steps.map((step, at): ReplayedTurn => {
    const [id] = step.toolCalls.map((call) => call.id)
    const found = messages.findIndex((message) => (hasToolCalls(message) ? message.toolCalls[0]?.id : undefined) === id)
    // If a text was cut off and then continued, its turns share one message, which belongs to the last of them.
    const isContinued = id === undefined && step.finishReason === 'length' && messages.length < steps.length - at
    // The answer that ends a preview is removed when the planned calls run.
    const isRemoved =
      id === undefined && messages.filter(isText).length < steps.slice(at).filter(({ toolCalls }) => toolCalls.length === 0).length
    if (found === -1 || isContinued || isRemoved) return { step }
    const message = messages[found]
    messages.splice(0, found + 1)
    return { step, ...withoutUndefined({ message }) }
  })
  return { turns, calls: toolCalls }
}

function isText(message: AssistantMessage): boolean {
  return !hasToolCalls(message)
}
