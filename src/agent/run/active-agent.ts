import type { ChatModel } from '../../models/chat-model.ts'
import type { ToolSet } from '../../tools/registry.ts'
import { namedBeside, type OutputFormat, withAnswerTool } from '../output/output.ts'

/** The agent that has the conversation. */
export interface ActiveAgent {
  readonly model: ChatModel
  /** The tools the model is told of. */
  readonly offered: ToolSet
  /** Where a call's tool is found: among those that are offered, and the one that gives the answer. */
  readonly registry: ToolSet
  /** How the answer is to be given, where it has a schema. */
  readonly output: OutputFormat | undefined
}

export function activeAgent(model: ChatModel, tools: ToolSet, format: OutputFormat | undefined): ActiveAgent {
  const output = format && namedBeside(format, tools)
  return { model, offered: tools, registry: output === undefined ? tools : withAnswerTool(output, tools), output }
}
