import type { StandardSchemaV1 } from '@standard-schema/spec'
import { messageOf } from '../../core/errors.ts'
import { copyJson, type JsonObject } from '../../core/messages.ts'
import { stoppedAfter } from '../../core/time/stopped-after.ts'
import type { AnyTool } from '../tool.ts'
import { issuesInWords } from './issues-in-words.ts'
import { compileSchema, isSlow, mayTakeLong, tooSlow } from './schema.ts'
import { parametersOf, standardSchemaOf } from './standard-schema.ts'

/** A tool's input, or what in the arguments is not valid. */
export type FittedArguments = { input: unknown } | { problems: string[] }

/** How long a tool's own schema may hold up the process, in milliseconds. It may run code of the program's, which takes longer than a pattern. */
const maxCheckMs = 100

/**
 * The tool's input for these arguments. A tool's own Standard Schema decides alone, because its JSON Schema says less than the schema does; for
 * any other tool, its JSON Schema decides. A promise only if the own schema checks asynchronously. Never throws.
 */
export function fitArguments(tool: AnyTool, args: JsonObject): FittedArguments | Promise<FittedArguments> {
  try {
    const standard = standardSchemaOf(tool)
    if (standard !== undefined) return fitToStandard(standard, tool, args)
    const problems = compileSchema(parametersOf(tool), tool.name)(args)
    return problems.length > 0 ? { problems } : { input: args }
  } catch (error) {
    return checkFailed(error)
  }
}

/** Whether checking arguments of this tool may take so long that no two checks should be in one turn of the event loop. */
export function mayHoldUp(tool: AnyTool): boolean {
  const parameters = parametersOf(tool)
  return standardSchemaOf(tool) === undefined ? isSlow(parameters) : mayTakeLong(parameters)
}

function fitToStandard(standard: StandardSchemaV1, tool: AnyTool, args: JsonObject): FittedArguments | Promise<FittedArguments> {
  const validate = () => standard['~standard'].validate(copyJson(args))
  const checking = mayTakeLong(parametersOf(tool)) ? stoppedAfter(maxCheckMs, validate) : { value: validate() }
  if (checking === undefined) return { problems: [tooSlow] }
  const checked = checking.value
  if (!('then' in checked)) return fittedBy(checked, tool, args)
  return Promise.resolve(checked)
    .then((result) => fittedBy(result, tool, args))
    .catch(checkFailed)
}

function fittedBy(checked: StandardSchemaV1.Result<unknown>, tool: AnyTool, args: JsonObject): FittedArguments {
  const { issues } = checked
  if (issues === undefined) return { input: checked.value }
  let problems: string[] | undefined
  try {
    compileSchema(parametersOf(tool), tool.name)(args, (errors) => {
      problems = issuesInWords(issues, errors, args)
      return problems
    })
  } catch {
    // A JSON Schema that doesn't compile has nothing to say.
  }
  return { problems: problems ?? issuesInWords(issues, [], args) }
}

function checkFailed(error: unknown): FittedArguments {
  return { problems: [`the check failed: ${messageOf(error)}`] }
}
