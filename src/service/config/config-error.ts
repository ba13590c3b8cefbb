import { ToolloopError } from '../../core/errors.ts'
import { redactText } from '../../core/redaction/redact.ts'
import { describeProblems } from '../http/check-schema.ts'
import type { Problem } from '../http/problem.ts'

/** More than anyone fixes at once. */
const mostProblems = 100

/** An invalid configuration; `problems` lists what is wrong with it, at most 100 items and a last one with the number of the others. */
export class ConfigError extends ToolloopError {
  readonly problems: readonly Problem[]

  /** `place`: where in the file, if it is not valid YAML. */
  constructor(file: string, found: readonly Problem[], cause?: unknown, place?: Place) {
    // An error about a model's settings may quote them, and a URL may contain a password.
    const problems = found.slice(0, mostProblems).map(({ path, message }) => ({ path, message: redactText(message) }))
    if (found.length > mostProblems) problems.push({ path: '', message: `has ${found.length - mostProblems} more problems` })
    const message =
      place === undefined
        ? `${file} is invalid: ${describeProblems(problems)}`
        : `${file}:${place.line}:${place.column} ${problems[0]?.message}${place.excerpt && `\n${place.excerpt}`}`
    super('invalid_option', message, { cause })
    this.problems = problems
  }
}

/** Where in a file. */
export interface Place {
  /** From 1, as editors count. */
  line: number
  column: number
  /** The lines around it, without secrets; may be empty. */
  excerpt: string
}
