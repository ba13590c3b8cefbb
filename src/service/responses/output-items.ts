type Status = 'in_progress' | 'completed' | 'incomplete'

export interface OutputText {
  type: 'output_text'
  text: string
  annotations: []
  logprobs: []
}

interface MessageItem {
  type: 'message'
  id: string
  status: Status
  role: 'assistant'
  content: OutputText[]
}

export interface ReasoningItem {
  type: 'reasoning'
  id: string
  status: Status
  summary: { type: 'summary_text'; text: string }[]
}

export interface CallItem {
  type: 'function_call'
  id: string
  status: Status
  call_id: string
  /** The namespace of the function, if it has one. */
  namespace?: string
  name: string
  arguments: string
}

/** An output item of a response. https://platform.openai.com/docs/api-reference/responses/object#responses/object-output */
export type OutputItem = MessageItem | ReasoningItem | CallItem

export function outputText(text: string): OutputText {
  return { type: 'output_text', text, annotations: [], logprobs: [] }
}

export type TextItem = MessageItem | ReasoningItem

export function summaryText(text: string): ReasoningItem['summary'][number] {
  return { type: 'summary_text', text }
}

/** For each type of item, the names of its text events and of their index field. */
export const textEvents: Readonly<Record<TextItem['type'], { part: string; text: string; number: string; partOf(text: string): object }>> =
  {
    message: { part: 'response.content_part', text: 'response.output_text', number: 'content_index', partOf: outputText },
    reasoning: {
      part: 'response.reasoning_summary_part',
      text: 'response.reasoning_summary_text',
      number: 'summary_index',
      partOf: summaryText,
    },
  }
