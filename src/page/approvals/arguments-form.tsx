import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { visibleLines } from '../../core/text/visible.ts'
import { messageOf } from '../data/api.ts'
import type { Item } from '../data/pending-items.ts'
import { Diff } from '../run/diff.tsx'
import { isRecord, planOf } from '../tools/form-plan.ts'
import { type Problems, SchemaForm, unreadable } from '../tools/schema-form.tsx'
import type { JsonSchema } from '../types.ts'
import { hiddenPart } from '../ui/hidden-text.ts'
import { useLive } from '../ui/live-context.ts'
import { Form, type FormProps } from './form.tsx'
import { hiddenIn, isLarge, splitLarge } from './large-values.ts'

type Arguments = Record<string, unknown>

const none: Problems = new Map()

/**
 * A form that approves a call with edited arguments. Arguments that are too large for a field keep their values, unless the user replaces
 * them.
 */
export function ArgumentsForm({ decision, submit }: FormProps) {
  const { edited, error, item } = decision
  const { small, large } = useMemo(() => splitLarge(item.args), [item])
  const place = useRef<HTMLDivElement>(null)
  const schema = useSchema(item, large)
  const [isJson, setIsJson] = useState(false)
  const plan = useMemo(() => planOf(isJson ? {} : schema), [schema, isJson])
  const [problems, setProblems] = useState(none)
  useEffect(() => {
    if (decision.wantsFocus) place.current?.querySelector<HTMLElement>('input, select, textarea')?.focus()
    decision.wantsFocus = false
  }, [decision])
  useEffect(() => {
    if (problems.size > 0) place.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus()
  }, [problems])

  /** Returns whether the input can be parsed. If not, shows each error at its field. */
  const isReadable = () => {
    const found = unreadable(edited.value)
    setProblems(found)
    return found.size === 0
  }
  const toggle = () => {
    if (isReadable()) setIsJson(!isJson)
  }
  const send = async () => {
    error.value = ''
    if (!isReadable()) return
    try {
      const args = await complete(edited.value, large)
      await submit({ approved: true, ...(isSame(edited.value, small) ? {} : { args }) }, 'Approved')
    } catch (thrown) {
      error.value = messageOf(thrown)
    }
  }
  return (
    <Form verb="Approve with these arguments" kind="primary" send={send} back={() => decision.open('choice')}>
      <div ref={place} class="decision-changes">
        <SchemaForm
          key={String(isJson)}
          plan={plan}
          value={edited.value}
          onChange={(value) => {
            edited.value = value ?? {}
          }}
          problems={problems}
        />
        <p class="hint" hidden={Object.keys(large).length === 0}>
          {`${tooLarge(Object.keys(large))} too large to edit here. What you don’t name stays as it is.`}
        </p>
        {(isJson || plan.kind === 'object') && (
          <div>
            <button type="button" class="quiet" aria-pressed={isJson} onClick={toggle}>
              Edit as JSON
            </button>
          </div>
        )}
        <Changes args={edited.value} asked={small} />
      </div>
    </Form>
  )
}

/** Returns the schema of the edited arguments, or a schema that accepts any JSON if the page doesn't know the tool's schema. */
function useSchema({ tool, agents }: Item, large: Arguments): JsonSchema {
  const found = useLive().state?.tools.find(({ function: { name } }) => name === tool)?.function.parameters
  const known = agents.length === 0 ? found : undefined
  return useMemo(() => {
    if (known?.properties === undefined) return {}
    const properties = Object.fromEntries(Object.entries(known.properties).filter(([name]) => !Object.hasOwn(large, name)))
    return { ...known, properties }
  }, [known, large])
}

/** Adds the arguments that were too large to edit. Throws an `Error` if the result is not a valid object. */
async function complete(given: unknown, large: Arguments): Promise<Arguments> {
  if (!isRecord(given)) throw new Error('Expected a JSON object')
  const kept = Object.fromEntries(Object.entries(large).filter(([name]) => !Object.hasOwn(given, name)))
  const hidden = hiddenPart(JSON.stringify(given)) ?? (await hiddenIn(kept))
  if (hidden !== undefined) throw new Error(`Replace ${hidden} with the actual value`)
  return { ...given, ...kept }
}

function tooLarge(names: string[]): string {
  if (names.length > 3) return `${names.length.toLocaleString()} arguments are`
  return `${names.map(visibleLines).join(', ')}: ${names.length > 1 ? 'are' : 'is'}`
}

/** Shows how the edited arguments differ from the requested ones. Shows nothing while the input can't be parsed. */
function Changes({ args, asked }: { args: unknown; asked: Arguments }) {
  if (isSame(args, asked) || unreadable(args).size > 0) return null
  if (isLarge(args)) return <p class="muted">Too large to show what has changed</p>
  return (
    <>
      <p class="muted">Changes</p>
      <Diff before={asked} after={args} label="Changes" />
    </>
  )
}

function isSame(args: unknown, asked: unknown): boolean {
  return JSON.stringify(args) === JSON.stringify(asked)
}
