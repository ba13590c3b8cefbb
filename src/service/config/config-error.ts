import { ToolloopError } from '../../core/errors.ts'
import { redactText } from '../../core/redaction/redact.ts'
import { describeProblems } from '../http/check-schema.ts'
import type { Problem } from '../http/problem.ts'

const mostProblems = 100

/** The error of an invalid configuration. `problems` lists the first 100 problems. A last item counts the rest. */
export class ConfigError extends ToolloopError {
  readonly problems: readonly Problem[]

  /** `place` is the position of a YAML syntax error in the file. @internal */
  constructor(file: string, found: readonly Problem[], cause?: unknown, place?: Place) {
    // The messages are redacted, because an error about a model's settings may quote them, and a URL may contain a password.
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

export interface Place {
  /** The line, counted from 1. */
  line: number
  column: number
  /** The lines around the position, redacted. May be empty. */
  excerpt: string
}
