import type { RunContext } from '../agent/run/run-context.ts'
import type { AgentRules } from '../agent/types/options.ts'

type CallRules = Required<Pick<AgentRules<never>, 'hooks' | 'plan' | 'around' | 'guardrails'>>

/** Returns the rules for the calls of a script: the run's hooks, guardrails, and entries of `plan` and `around`, if they apply to calls. */
export function rulesOfCalls({ agent, settings }: RunContext): CallRules {
  const { rules = {} } = agent
  return {
    hooks: only(['onFailure', 'beforeTool', 'aroundTool', 'afterTool'], settings.hooks, rules.hooks),
    plan: only(['onFailure', 'call'], settings.plan, rules.plan),
    around: only(['onFailure', 'call'], settings.around, rules.around),
    guardrails: only(['call', 'result'], settings.guardrails, rules.guardrails),
  }
}

/** Copies objects with only `name` and the members in `names`. Skips objects that have no function among these members. */
function only<One extends { readonly name?: string }, Name extends keyof One & string>(
  names: readonly Name[],
  ...lists: readonly (readonly One[] | undefined)[]
): (One & { name: string })[] {
  const all = new Set(lists.flatMap((list) => list ?? []))
  return [...all].flatMap((one) => {
    const members = names.flatMap((name): [string, unknown][] => {
      const member: unknown = one[name]
      return member === undefined ? [] : [[name, typeof member === 'function' ? member.bind(one) : member]]
    })
    const isAsked = members.some(([, member]) => typeof member === 'function')
    return isAsked
      ? [{ ...(one.name === undefined ? {} : { name: one.name }), ...Object.fromEntries(members) } as One & { name: string }]
      : []
  })
}
